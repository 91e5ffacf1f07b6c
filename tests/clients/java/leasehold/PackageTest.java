package leasehold;

import static leasehold.Tests.equal;
import static leasehold.Tests.that;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.jar.JarFile;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** What clients/java/build makes. */
final class PackageTest implements Tests.Suite {
    private final Path folder = Files.createTempDirectory("leasehold-package");
    private final String version;
    private final Path jar;

    PackageTest() throws Exception {
        Matcher project = Pattern.compile("project\\(leasehold VERSION (\\S+)").matcher(Host.read("CMakeLists.txt"));
        that(project.find(), "CMakeLists.txt names no version");
        version = project.group(1);
        build(folder.resolve("one"));
        jar = folder.resolve("one/leasehold-" + version + ".jar");
    }

    @Override
    public void close() throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
        }
    }

    private static void build(Path to) throws Exception {
        run(Host.ROOT.resolve("clients/java/build").toString(), to.toString());
    }

    private static String run(String... command) throws Exception {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        that(process.waitFor() == 0, said);
        return said;
    }

    private static Set<String> names(Path jar) throws IOException {
        try (JarFile file = new JarFile(jar.toFile())) {
            return file.stream().map(one -> one.getName()).collect(Collectors.toCollection(TreeSet::new));
        }
    }

    @Test
    void twoBuildsAreIdentical() throws Exception {
        build(folder.resolve("two"));
        Set<String> files = new TreeSet<>();
        try (Stream<Path> made = Files.list(folder.resolve("one"))) {
            for (Path one : made.collect(Collectors.toList())) {
                files.add(one.getFileName().toString());
                byte[] again = Files.readAllBytes(folder.resolve("two").resolve(one.getFileName()));
                that(Arrays.equals(again, Files.readAllBytes(one)), one);
            }
        }
        String name = "leasehold-" + version;
        equal(Set.of(name + ".jar", name + "-sources.jar", name + ".pom"), Set.copyOf(files));
    }

    @Test
    void theSourcesAreThoseOfTheTree() throws Exception {
        Path tree = Host.ROOT.resolve("clients/java/src/main/java");
        Set<String> expected = new TreeSet<>(List.of("META-INF/MANIFEST.MF", "META-INF/LICENSE"));
        try (Stream<Path> files = Files.walk(tree)) {
            files.filter(Files::isRegularFile).forEach(file -> expected.add(tree.relativize(file).toString()));
        }
        Set<String> packed = names(folder.resolve("one/leasehold-" + version + "-sources.jar"));
        packed.removeIf(name -> name.endsWith("/"));
        equal(expected, packed);
        for (String name : expected) {
            if (!name.endsWith(".java")) continue;
            that(names(jar).contains(name.replace(".java", ".class")) || name.endsWith("package-info.java"), name);
        }
    }

    @Test
    void theJarRunsOnJava11AndNeedsOnlyJava() throws Exception {
        try (JarFile file = new JarFile(jar.toFile())) {
            byte[] head = file.getInputStream(file.getEntry("leasehold/Lease.class")).readNBytes(8);
            equal(55, head[7] & 0xff); // the version of class files of Java 11
            equal(version, file.getManifest().getMainAttributes().getValue("Implementation-Version"));
        }
        String described = run("jar", "--describe-module", "--file", jar.toString());
        that(described.contains("requires java.base") && described.contains("requires java.net.http transitive"), described);
        equal(2L, described.lines().filter(line -> line.startsWith("requires")).count());
        equal(2L, described.lines().filter(line -> line.startsWith("exports leasehold")).count());
    }

    @Test
    void aProgramUsesTheJarAsAModule() throws Exception {
        Path program = folder.resolve("Program.java");
        Files.writeString(program, String.join("\n",
                "import leasehold.*;",
                "class Program {",
                "    public static void main(String[] args) {",
                "        LeaseholdClient client = LeaseholdClient.builder(\"http://127.0.0.1:1\")",
                "                .patience(java.time.Duration.ZERO).build();",
                "        try { client.holders(\"Order/1\"); }",
                "        catch (FaultException fault) { System.out.print(fault.effect() + \" \" + Held.class.getModule()); }",
                "    }",
                "}"));
        equal("NONE module leasehold", run("java", "-XX:TieredStopAtLevel=1", "--module-path", jar.toString(),
                "--add-modules", "leasehold", program.toString()));
    }

    @Test
    void theLicenceIsThatOfLeasehold() throws Exception {
        equal(Host.read("LICENSE"), Host.read("clients/java/LICENSE"));
    }
}
