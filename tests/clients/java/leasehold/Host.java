package leasehold;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** A server behind a gate: tests/clients/host.py as a program that is controlled line by line. */
final class Host implements AutoCloseable {
    static final Path ROOT = Path.of(System.getProperty("leasehold.root"));

    private final Process process;
    private final OutputStream in;
    private final BufferedReader out;
    final String gate; // URLs
    final String server;

    Host(Map<String, ?> options) throws IOException {
        process = new ProcessBuilder("python3", "-B", ROOT.resolve("tests/clients/host.py").toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        in = process.getOutputStream();
        out = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        JsonFields started = control("start", options);
        gate = started.text("gate");
        server = started.text("server");
    }

    void gate(Object... command) {
        control("gate", command);
    }

    void server(Object... command) {
        control("server", command);
    }

    synchronized JsonFields control(String what, Object... words) {
        List<Object> command = new ArrayList<>(List.of(what));
        command.addAll(Arrays.asList(words));
        try {
            in.write(Json.print(command));
            in.write('\n');
            in.flush();
            String line = out.readLine();
            if (line == null) throw new AssertionError("the host has ended at " + command);
            return JsonFields.of(Json.parse(line));
        } catch (IOException error) {
            throw new AssertionError("the host has ended at " + command, error);
        }
    }

    @Override
    public void close() throws Exception {
        in.close();
        if (!process.waitFor(Tests.PATIENCE_SECONDS, TimeUnit.SECONDS)) process.destroyForcibly();
    }

    static String read(String path) throws IOException {
        return Files.readString(ROOT.resolve(path));
    }
}
