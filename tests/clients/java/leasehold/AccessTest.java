package leasehold;

import static leasehold.Tests.equal;
import static leasehold.Tests.that;
import static leasehold.Tests.throwsA;

import java.io.IOException;
import java.net.http.HttpClient;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** Tokens, TLS, client certificates, and the URL of the server. */
final class AccessTest implements Tests.Suite {
    private final Path folder = Files.createTempDirectory("leasehold-access");
    private final Host host;

    AccessTest() throws Exception {
        certificate("server");
        certificate("stranger");
        certificate("till");
        String drawn = run(System.getenv("LEASEHOLD_COMMAND"), "token", "shop", "--roles", "use,see", "--owner", "shop",
                "--token-file", file("token").toString());
        String till = "\n[[token]]\nname = \"till\"\ncertificate = \"CN=till\"\nroles = [\"use\"]\nowner = \"till\"\n";
        Files.writeString(file("tokens.toml"), drawn + till);
        Files.setPosixFilePermissions(file("tokens.toml"), PosixFilePermissions.fromString("rw-------"));
        host = new Host(Map.of(
                "tokens", file("tokens.toml").toString(),
                "tls-certificate", file("server.pem").toString(),
                "tls-key", file("server.key").toString(),
                "tls-client-ca", file("till.pem").toString()));
    }

    @Override
    public void close() throws Exception {
        host.close();
        try (Stream<Path> files = Files.walk(folder)) {
            files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
        }
    }

    private Path file(String name) {
        return folder.resolve(name);
    }

    private static String run(String... command) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        equal(0, process.waitFor());
        return said;
    }

    private void certificate(String name) throws IOException, InterruptedException {
        run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                "-subj", "/CN=" + name, "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                "-keyout", file(name + ".key").toString(), "-out", file(name + ".pem").toString());
    }

    private LeaseholdClient.Builder client() {
        return client(host.server);
    }

    private LeaseholdClient.Builder client(String url) {
        return LeaseholdClient.builder(url).caFile(file("server.pem")).patience(Duration.ZERO);
    }

    private String token() throws IOException {
        return Files.readString(file("token")).strip();
    }

    @Test
    void aTokenFromAFileATextAndAFunctionIsShown() throws Exception {
        String token = token();
        Terms shop = Terms.of("shop/alice");
        equal("shop/alice", client().tokenFile(file("token")).build().tryLock("Order/1", shop).owner());
        equal("shop/alice", client().token(token).build().tryLock("Order/1", shop).owner());
        LeaseholdClient byName = client(host.server.replace("127.0.0.1", "localhost")).token(() -> token).build();
        equal("shop/alice", byName.holders("Order/1").holders().get(0).owner());
    }

    @Test
    void aClientCertificateIsShown() {
        LeaseholdClient till = client().certificate(file("till.pem"), file("till.key")).build();
        equal("till", till.tryLock("Order/2", Terms.of("till")).owner());
    }

    @Test
    void withoutATokenNothingIsDone() throws Exception {
        LeaseholdClient stranger = client().patience(Duration.ofMinutes(1)).build();
        FaultException fault = throwsA(FaultException.class, () -> stranger.tryLock("Order/3", Terms.of("shop")));
        equal(401, fault.status());
        equal(Effect.NONE, fault.effect());
        equal(FaultException.Kind.NOT_ALLOWED, fault.kind());
        equal(false, fault.mayPass());
    }

    @Test
    void aTokenThatCannotBeSentIsAMistake() throws Exception {
        for (LeaseholdClient.Builder wrong : List.of(
                client().token("a\r\nb"), client().token("토큰"), client().tokenFile(file("nothing")))) {
            throwsA(BadRequestException.class, () -> wrong.build().holders("Order/1"));
        }
        Files.writeString(file("empty"), "\n");
        throwsA(BadRequestException.class, () -> client().tokenFile(file("empty")).build().holders("Order/1"));
    }

    @Test
    void aTokenFileIsARegularFileOfAModestSize() throws Exception {
        run("mkfifo", file("pipe").toString());
        Files.writeString(file("large"), "lh_" + "x".repeat(64 << 10));
        for (Path path : List.of(Path.of("/dev/zero"), file("pipe"), folder, file("large"))) {
            BadRequestException wrong =
                    throwsA(BadRequestException.class, () -> client().tokenFile(path).build().holders("Order/1"));
            that(wrong.getMessage().startsWith("the token file cannot be read"), wrong);
            throwsA(BadRequestException.class, () -> LeaseholdClient.builder("https://x").caFile(path).build());
        }
    }

    @Test
    void aCertificateOfSomebodyElseIsNotAccepted() throws Exception {
        LeaseholdClient.Builder another = LeaseholdClient.builder(host.server).caFile(file("stranger.pem"));
        for (LeaseholdClient.Builder client : List.of(another, LeaseholdClient.builder(host.server))) {
            LeaseholdClient patient = client.token("secret").patience(Duration.ofMinutes(1)).build();
            FaultException fault = throwsA(FaultException.class, () -> patient.holders("Order/1"));
            equal(FaultException.Kind.CONFIGURATION, fault.kind());
            equal(Effect.NONE, fault.effect());
            that(fault.getMessage().contains("certificate"), fault);
        }
    }

    @Test
    void plainTextToAServerWithTlsIsAFault() throws Exception {
        LeaseholdClient plain = LeaseholdClient.builder(host.server.replace("https", "http")).patience(Duration.ZERO).build();
        throwsA(FaultException.class, () -> plain.tryLock("Order/4", Terms.of("shop")));
    }

    @Test
    void whatIsNoUrlOfAServerIsRefused() throws Exception {
        for (String url : List.of("", "locks.example", "ftp://x", "http://", "http://a:b@x", "http://x?token=1", "http://x:y",
                "http://x:99999", "http://x/#a", "http://x y")) {
            throwsA(BadRequestException.class, () -> LeaseholdClient.connect(url));
        }
        for (String url : List.of("http://locks.example", "https://locks.example/자물쇠/", "http://[::1]:8000/a/b/")) {
            LeaseholdClient.connect(url);
        }
    }

    @Test
    void noErrorRepeatsThePasswordOfAUrl() throws Exception {
        List<String> urls = new ArrayList<>(List.of("http://app:hunter2@[::1", "https://app:hunter2@locks:port",
                "http://app:hunter2@locks:99999", "app:hunter2@locks", "http:app:hunter2@locks", "http://app:hunter2@",
                "http://app:hun@ter2@locks", "http://app:hun?ter2@locks", "http://app:hun ter2@locks"));
        Path seeds = Path.of(System.getProperty("leasehold.root"), "tests/fuzz/seeds/url");
        try (Stream<Path> files = Files.list(seeds)) {
            for (Path file : (Iterable<Path>) files::iterator) {
                urls.add(new String(Files.readAllBytes(file), StandardCharsets.UTF_8));
            }
        }
        for (String url : urls) {
            for (String scheme : List.of("", "http:", "https://")) {
                if (!url.contains("@")) continue;
                BadRequestException wrong =
                        throwsA(BadRequestException.class, () -> LeaseholdClient.builder(scheme + url));
                equal("the URL of a server takes no user and no password; give a token", wrong.getMessage());
                equal(null, wrong.getCause());
            }
        }
    }

    @Test
    void settingsThatDoNotFitAreRefused() throws Exception {
        HttpClient following = HttpClient.newBuilder().followRedirects(HttpClient.Redirect.ALWAYS).build();
        for (Tests.Work wrong : List.<Tests.Work>of(
                () -> LeaseholdClient.builder("http://x").caFile(file("server.pem")).build(),
                () -> LeaseholdClient.builder("http://x").token("a").tokenFile(file("token")),
                () -> LeaseholdClient.builder("http://x").httpClient(following),
                () -> LeaseholdClient.builder("http://x").timeout(Duration.ZERO),
                () -> LeaseholdClient.builder("http://x").patience(Duration.ofSeconds(-1)),
                () -> client().httpClient(HttpClient.newHttpClient()).build(),
                () -> LeaseholdClient.builder("https://x").caFile(file("nothing")).build(),
                () -> LeaseholdClient.builder("https://x").caFile(file("token")).build(),
                () -> client().certificate(file("till.pem"), file("till.pem")).build())) {
            throwsA(BadRequestException.class, wrong);
        }
    }

    @Test
    void anHttpClientOfTheCallerIsUsed() throws Exception {
        LeaseholdClient own = LeaseholdClient.builder(host.server)
                .httpClient(HttpClient.newHttpClient())
                .patience(Duration.ZERO)
                .build();
        equal(FaultException.Kind.CONFIGURATION, throwsA(FaultException.class, () -> own.holders("a/b")).kind());
    }
}
