package leasehold;

import static leasehold.Tests.equal;
import static leasehold.Tests.that;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.net.URLClassLoader;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.ToolProvider;

/** Every block of Java in clients/java/README.md is compiled and run, one after the other, as a reader would type it. */
final class ReadmeTest {
    private static final String BEFORE = String.join("\n",
            "import java.util.ArrayList;",
            "public final class Readme {",
            "    @interface Configuration {}",
            "    @interface Bean {}",
            "    public static final ArrayList<String> saved = new ArrayList<>();",
            "    static final String[] items = {\"one\", \"two\"};",
            "    static void save(String what, long fence) { saved.add(what + (fence > 0)); }",
            "    static void write(String what, long fence) { save(what, fence); }",
            "    static String currentUser() { return \"alice\"; }",
            "    static String currentSession() { return \"session-7\"; }");

    private static List<String> blocks(String readme) {
        List<String> found = new ArrayList<>();
        Matcher matcher = Pattern.compile("```java\n(.*?)```", Pattern.DOTALL).matcher(readme);
        while (matcher.find()) found.add(matcher.group(1));
        return found;
    }

    /** The first block declares the client; the others are scopes of their own. */
    private static String program(List<String> blocks, String server) {
        Set<String> imports = new TreeSet<>();
        StringBuilder classes = new StringBuilder();
        StringBuilder body = new StringBuilder();
        for (String block : blocks) {
            String code = block.lines().filter(line -> !line.startsWith("import ")).collect(Collectors.joining("\n"));
            block.lines().filter(line -> line.startsWith("import ")).forEach(imports::add);
            // Any authority will do: nothing is sent to locks.example.
            code = code.replace("http://127.0.0.1:7470", server).replaceAll("\\.caFile\\(.*", "");
            if (code.strip().startsWith("@")) {
                classes.append(code.replaceFirst("\nclass ", "\npublic static class ")).append('\n');
            } else if (body.length() == 0) {
                body.append(code).append('\n');
            } else {
                body.append("{\n").append(code).append("\n}\n");
            }
        }
        return String.join("\n", imports) + "\n" + BEFORE + "\n" + classes
                + "public static void run() throws Exception {\n" + body + "}\n}\n";
    }

    @Test
    void everyBlockRunsAndPrintsWhatItsCommentsSay() throws Exception {
        List<String> blocks = blocks(Host.read("clients/java/README.md"));
        that(blocks.size() > 8, "too few blocks");
        Path folder = Files.createTempDirectory("leasehold-readme");
        PrintStream before = System.out;
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        try (Host host = new Host(Map.of())) {
            Path source = folder.resolve("Readme.java");
            Files.writeString(source, program(blocks, host.server));
            int status = ToolProvider.getSystemJavaCompiler().run(null, System.out, System.out,
                    "--release", "11", "-encoding", "UTF-8", "-Xlint:all,-try", "-Werror", "-d", folder.toString(),
                    "-cp", System.getProperty("java.class.path"), source.toString());
            equal(0, status);
            try (URLClassLoader loader = new URLClassLoader(new URL[] {folder.toUri().toURL()})) {
                Class<?> readme = loader.loadClass("Readme");
                System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
                readme.getMethod("run").invoke(null);
                System.setOut(before);
                equal(
                        List.of("the ordertrue", "onetrue", "twotrue", "the ordertrue"),
                        readme.getField("saved").get(null));
                Class<?> bean = loader.loadClass("Readme$Locks");
                Object locks = bean.getDeclaredConstructor().newInstance();
                Method make = bean.getDeclaredMethod("lockManager");
                make.setAccessible(true);
                ((leasehold.pattern.LockManager) make.invoke(locks)).tryLock("Order", "8");
                equal("alice/session-7", LeaseholdClient.connect(host.server).holders("Order/8").holders().get(0).owner());
            }
        } finally {
            System.setOut(before);
            try (Stream<Path> files = Files.walk(folder)) {
                files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
            }
        }
        String[] expected = {
            "Order/1 is held by alice for at most 60 seconds more",
            "alice",
            "lease of Order/2 for bob, fence [0-9]+",
            "Order/3 is held by bob for at most .* more",
            "Order/2",
            "Order/3",
            "2",
            "released( by .*)?",
            "granted Invoice/1 alice"
        };
        List<String> lines = printed.toString(StandardCharsets.UTF_8).lines().collect(Collectors.toList());
        equal(expected.length, lines.size());
        for (int i = 0; i < expected.length; ++i) that(lines.get(i).matches(expected[i]), lines.get(i));
    }

    @Test
    void theTableOfCallsNamesEveryMethod() throws Exception {
        String readme = Host.read("clients/java/README.md");
        String table = readme.substring(readme.indexOf("## All calls"));
        Matcher row = Pattern.compile("^\\| `(\\w+)\\(", Pattern.MULTILINE).matcher(table);
        Set<String> named = new TreeSet<>();
        while (row.find()) named.add(row.group(1));
        Set<String> methods = Arrays.stream(LeaseholdClient.class.getDeclaredMethods())
                .filter(method -> Modifier.isPublic(method.getModifiers()) && !Modifier.isStatic(method.getModifiers()))
                .map(Method::getName)
                .collect(Collectors.toCollection(TreeSet::new));
        equal(methods, named);
    }
}
