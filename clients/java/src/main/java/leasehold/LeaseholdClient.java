package leasehold;

import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.http.HttpClient;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.Optional;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.UUID;
import java.util.function.BiFunction;
import java.util.function.Supplier;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import javax.net.ssl.SSLContext;

/**
 * Calls a Leasehold server. Thread-safe: make one for the application. There is nothing to close.
 *
 * <p>Every call blocks. A "no" of the server is a {@link RefusedException}, and no answer is a {@link FaultException}. A
 * request that failed is sent again for up to the client's patience, if a later one may succeed and if repeating it is
 * harmless. A thread that is interrupted in a call gets a fault of the kind {@code INTERRUPTED}, and stays interrupted.
 */
public final class LeaseholdClient {
    private final Calls calls;

    private LeaseholdClient(Builder builder) {
        Transport transport = new Transport(builder.url, builder.http(), builder.token());
        calls = new Calls(transport, builder.timeout, builder.patience);
    }

    /** A client of the server at this URL, such as {@code http://127.0.0.1:7470}. */
    public static LeaseholdClient connect(String url) {
        return builder(url).build();
    }

    /** For a client with a token, with TLS of its own, or with other times. */
    public static Builder builder(String url) {
        return new Builder(url);
    }

    /** A lock id: a random UUID. */
    public static String newLockId() {
        return UUID.randomUUID().toString();
    }

    // One key

    /**
     * Takes the key. The same owner gets its own lease back, renewed.
     *
     * @throws HeldByOthersException at once, if others hold the key
     */
    public Lease tryLock(Key key, Terms terms) {
        return calls.take(key, terms, Duration.ZERO);
    }

    /** The same of a key such as {@code "Order/1"}. */
    public Lease tryLock(String key, Terms terms) {
        return tryLock(Key.parse(key), terms);
    }

    /**
     * Takes the key as soon as it is the caller's turn in the server's line: first come, first served.
     *
     * @throws HeldByOthersException when the wait is over
     */
    public Lease lockFor(Key key, Duration wait, Terms terms) {
        return calls.take(key, terms, wait);
    }

    /** The same of a key such as {@code "Order/1"}. */
    public Lease lockFor(String key, Duration wait, Terms terms) {
        return lockFor(Key.parse(key), wait, terms);
    }

    /**
     * Takes the key and keeps the lease alive until it is closed. The {@code ttl} of the terms, a minute by default, is how
     * long others wait if this process dies.
     *
     * @throws HeldByOthersException if others hold the key
     */
    public Held hold(Key key, Terms terms) {
        return hold(key, terms, Hold.options());
    }

    /** The same of a key such as {@code "Order/1"}. */
    public Held hold(String key, Terms terms) {
        return hold(Key.parse(key), terms);
    }

    /** The same with options: how long to wait for the key, and how to tell of a loss. */
    public Held hold(Key key, Terms terms, Hold options) {
        Terms limited = Hold.withTtl(terms);
        long[] times = options.times(limited);
        Lease lease = lockFor(key, options.waiting(), limited);
        try {
            return Held.of(calls, lease, limited, times, options);
        } catch (RuntimeException | Error error) { // no thread can be started
            release(lease);
            throw error;
        }
    }

    /** The same of a key such as {@code "Order/1"}. */
    public Held hold(String key, Terms terms, Hold options) {
        return hold(Key.parse(key), terms, options);
    }

    /** Who holds the key, and who waits for it. */
    public Holders holders(Key key) {
        return calls.ask(Request.reading(Wire.keyPath(key)), (answer, askedAt) -> Wire.holders(answer));
    }

    /** The same of a key such as {@code "Order/1"}. */
    public Holders holders(String key) {
        return holders(Key.parse(key));
    }

    /**
     * The lease as it is now. Changes nothing.
     *
     * @throws GoneException if the lease is not alive
     */
    public Lease check(Leased lease) {
        if (lease.leasedKey().isEmpty()) {
            Batch batch = batch();
            return sent(batch, batch.check(lease));
        }
        Key key = lease.leasedKey().get();
        return calls.about(Request.reading(Wire.keyPath(key)), key, lease.lockId());
    }

    /**
     * Sets the expiry to now plus {@code ttl}; never shortens the lease.
     *
     * @throws GoneException if the lease is not alive
     */
    public Lease renew(Leased lease, Duration ttl) {
        return renew(calls, lease, Map.of("ttl_ms", Wire.milliseconds(ttl)));
    }

    /** The same, but the lease does not live longer than {@code maxHold} from its grant. */
    public Lease renew(Leased lease, Duration ttl, Duration maxHold) {
        return renew(
                calls, lease, Map.of("ttl_ms", Wire.milliseconds(ttl), "max_hold_ms", Wire.milliseconds(maxHold)));
    }

    static Lease renew(Calls calls, Leased lease, Map<String, Object> times) {
        if (lease.leasedKey().isEmpty()) {
            Batch batch = new Batch(calls);
            return sent(batch, batch.renew(lease, times));
        }
        Key key = lease.leasedKey().get();
        Request request = Request.changing("PATCH", Wire.keyPath(key), times).thatMayBeRepeated();
        return calls.about(request, key, lease.lockId());
    }

    /**
     * Adds to the expiry. Not repeated after an unknown effect, because the second extension would add to it again.
     *
     * @throws GoneException if the lease is not alive
     */
    public Lease extend(Leased lease, Duration by) {
        if (lease.leasedKey().isEmpty()) {
            Batch batch = batch();
            return sent(batch, batch.extend(lease, by));
        }
        Key key = lease.leasedKey().get();
        Map<String, Object> body = Map.of("extend_ms", Wire.milliseconds(by));
        return calls.about(Request.changing("PATCH", Wire.keyPath(key), body), key, lease.lockId());
    }

    /** Ends the lease. Empty if this call ended it; otherwise how it had ended before, which is no error. */
    public Optional<Ending> release(Leased lease) {
        return release(calls, lease, Map.of());
    }

    /**
     * Ends the lease after this time, at most a minute, unless it is renewed before: for a page that was closed, or only
     * reloaded.
     */
    public Optional<Ending> releaseAfter(Leased lease, Duration delay) {
        return release(calls, lease, Map.of("after_ms", Long.toString(Wire.milliseconds(delay))));
    }

    static Optional<Ending> release(Calls calls, Leased lease, Map<String, String> parameters) {
        if (lease.leasedKey().isEmpty()) {
            if (!parameters.isEmpty()) throw new BadRequestException("a delayed release needs the key of the lease");
            Batch batch = new Batch(calls);
            Batch.Answer<Lease> answer = batch.release(lease);
            batch.send();
            if (answer.failure() instanceof GoneException) return Optional.of(((GoneException) answer.failure()).ending());
            answer.get();
            return Optional.empty();
        }
        Key key = lease.leasedKey().get();
        String path = Wire.withQuery(Wire.keyPath(key), parameters);
        Request request = Request.changing("DELETE", path, null).thatMayBeRepeated();
        return calls.ask(request.about(lease.lockId()), (answer, askedAt) -> {
            if (answer.has("lease")) {
                Wire.lease(answer.object("lease"), askedAt, key, lease.lockId());
                return Optional.empty();
            }
            return Optional.of(Wire.ending(answer.object("refused")));
        });
    }

    /** Asks the holders for the key, and returns them: none if nobody holds it. {@code owner} is who asks. */
    public List<Holder> knock(Key key, String message, String owner) {
        Map<String, Object> body = new LinkedHashMap<>(Map.of("message", message));
        if (!owner.isEmpty()) body.put("owner", owner);
        try {
            Request request = Request.changing("POST", Wire.keyPath(key) + "/knock", body);
            return calls.ask(request, (answer, askedAt) -> Wire.holders(answer).holders());
        } catch (FaultException fault) {
            if (fault.code().equals("not_held")) return List.of();
            throw fault;
        }
    }

    /** The same of a key such as {@code "Order/1"}. */
    public List<Holder> knock(String key, String message, String owner) {
        return knock(Key.parse(key), message, owner);
    }

    /**
     * Ends the lease of somebody else that has this fence, and returns it. The holder can read by whom, and the reason.
     *
     * @throws GoneException if that lease is not alive
     */
    public Holder breakLock(Key key, long fence, String by, String reason) {
        Map<String, Object> body = new LinkedHashMap<>(Map.of("fence", fence));
        if (!by.isEmpty()) body.put("by", by);
        if (!reason.isEmpty()) body.put("reason", reason);
        Request request = Request.changing("POST", Wire.keyPath(key) + "/break", body);
        return calls.ask(request, (answer, askedAt) -> Wire.holder(answer, Wire.moment(answer.text("store_now"))));
    }

    /** The same of a key such as {@code "Order/1"}. */
    public Holder breakLock(String key, long fence, String by, String reason) {
        return breakLock(Key.parse(key), fence, by, reason);
    }

    // Several keys

    /**
     * Takes all keys or none. The leases are in the order of the keys.
     *
     * @throws HeldByOthersException if others hold one of the keys
     */
    public List<Lease> tryAll(List<Key> keys, Terms terms) {
        Batch batch = batch();
        return sent(batch, batch.tryAll(keys, terms));
    }

    /** A batch to be filled and sent. */
    public Batch batch() {
        return new Batch(calls);
    }

    /**
     * Ends all leases of the owner, with {@link OwnerScope#BELOW} also those of the owners below it, and returns them. Not
     * repeated after an unknown effect, because the second answer would not name the leases that the first one ended.
     */
    public List<Holder> releaseAll(String owner, OwnerScope scope) {
        if (owner.isEmpty()) throw new BadRequestException("releaseAll needs an owner");
        Map<String, String> parameters = scope == OwnerScope.EXACT ? Map.of() : Map.of("scope", Words.of(scope));
        String path = Wire.withQuery("/v1/owners/" + Wire.encoded(owner) + "/locks", parameters);
        Request request = Request.changing("DELETE", path, null);
        return calls.ask(request, (answer, askedAt) -> answer.list("leases", Wire::endedLease));
    }

    // Pages

    /** Live leases in the order of their keys. The stream asks for one page after the other. */
    public Stream<Holder> list(Filter filter) {
        if (filter.parameters().containsKey("id")) throw new BadRequestException("use holders(key) for one key");
        return pages("/v1/locks", filter.parameters(), "after", "locks", Wire::holder);
    }

    /** Leases that ended, the latest first. */
    public Stream<PastLease> history() {
        return pages("/v1/history", Map.of(), "before", "history", Wire::pastLease);
    }

    /** Leases of this key that ended, the latest first. */
    public Stream<PastLease> history(Key key) {
        Map<String, String> parameters = Map.of("type", key.type(), "id", key.id());
        return pages("/v1/history", parameters, "before", "history", Wire::pastLease);
    }

    /** The same of a key such as {@code "Order/1"}. */
    public Stream<PastLease> history(String key) {
        return history(Key.parse(key));
    }

    /** Follows what happens from now on. */
    public EventStream events(Filter filter) {
        return events(filter, "");
    }

    /** Continues behind the event with this {@link Event#id() id}. */
    public EventStream events(Filter filter, String lastId) {
        return new EventStream(calls, filter, Objects.requireNonNull(lastId, "lastId"));
    }

    private <T> Stream<T> pages(
            String path,
            Map<String, String> parameters,
            String begin,
            String rows,
            BiFunction<JsonFields, Instant, T> reader) {
        Iterator<T> all = new Iterator<>() {
            private final Deque<T> page = new ArrayDeque<>();
            private String next = ""; // null: this is the last page

            @Override
            public boolean hasNext() {
                while (page.isEmpty() && next != null) {
                    Map<String, String> asked = new LinkedHashMap<>(parameters);
                    if (!next.isEmpty()) asked.put(begin, next);
                    next = calls.ask(Request.reading(Wire.withQuery(path, asked)), (answer, askedAt) -> {
                        Instant storeNow = Wire.moment(answer.text("store_now"));
                        List<T> read = answer.list(rows, row -> reader.apply(JsonFields.of(row), storeNow));
                        String behind = answer.hasValue("next") ? answer.text("next") : null;
                        page.addAll(read);
                        return behind;
                    });
                }
                return !page.isEmpty();
            }

            @Override
            public T next() {
                if (!hasNext()) throw new NoSuchElementException();
                return page.remove();
            }
        };
        int traits = Spliterator.ORDERED | Spliterator.NONNULL;
        return StreamSupport.stream(Spliterators.spliteratorUnknownSize(all, traits), false);
    }

    private static <T> T sent(Batch batch, Batch.Answer<T> answer) {
        batch.send();
        return answer.get();
    }

    /** Makes a {@link LeaseholdClient}. */
    public static final class Builder {
        private final String url;
        private final boolean tls;
        private Supplier<String> token;
        private Path caFile;
        private Path certificate;
        private Path key;
        private SSLContext sslContext;
        private HttpClient http;
        private Duration timeout = Duration.ofSeconds(5);
        private Duration patience = Duration.ofSeconds(10);

        private Builder(String url) {
            if (url.indexOf('@') >= 0) { // before any error can quote a password
                throw new BadRequestException("the URL of a server takes no user and no password; give a token");
            }
            URI uri;
            try {
                uri = new URI(url).parseServerAuthority();
            } catch (URISyntaxException wrong) {
                throw new BadRequestException("\"" + url + "\" is not the URL of a server: " + wrong.getMessage(), wrong);
            }
            tls = "https".equals(uri.getScheme());
            if (uri.getHost() == null || !tls && !"http".equals(uri.getScheme()) || uri.getPort() > 65535) {
                throw new BadRequestException(
                        "\"" + url + "\" is not the URL of a server; write http://HOST:PORT or https://HOST");
            }
            if (uri.getQuery() != null || uri.getFragment() != null) {
                throw new BadRequestException(
                        "the URL of a server takes no parameters; give a tokenFile and a caFile to the client");
            }
            int port = uri.getPort() > 0 ? uri.getPort() : tls ? 443 : 7470;
            String path = URI.create(uri.getRawPath()).toASCIIString();
            while (path.endsWith("/")) path = path.substring(0, path.length() - 1);
            this.url = uri.getScheme() + "://" + uri.getHost() + ":" + port + path;
        }

        /** A bearer token. */
        public Builder token(String token) {
            Objects.requireNonNull(token, "token");
            return token(() -> token);
        }

        /** Asked before each request, so that the token can change. */
        public Builder token(Supplier<String> token) {
            if (this.token != null) throw new BadRequestException("give one token");
            this.token = Objects.requireNonNull(token, "token");
            return this;
        }

        /**
         * A file that has the token in its first line. It is read again for each request. Without any token, the
         * environment variables {@code LEASEHOLD_TOKEN_FILE} and {@code LEASEHOLD_TOKEN} are used.
         */
        public Builder tokenFile(Path file) {
            return token(() -> firstLine(file));
        }

        /** A file with the certificates (PEM) of the authorities to trust instead of Java's. */
        public Builder caFile(Path file) {
            caFile = Objects.requireNonNull(file, "file");
            return this;
        }

        /** Our own certificate with its chain, and its private key: files in PEM, the key as PKCS #8 and not encrypted. */
        public Builder certificate(Path certificate, Path key) {
            this.certificate = Objects.requireNonNull(certificate, "certificate");
            this.key = Objects.requireNonNull(key, "key");
            return this;
        }

        /** TLS of your own, instead of {@code caFile} and {@code certificate}. */
        public Builder sslContext(SSLContext context) {
            sslContext = Objects.requireNonNull(context, "context");
            return this;
        }

        /** An HTTP client of your own, for example with a proxy. It must not follow redirections: they take secrets along. */
        public Builder httpClient(HttpClient client) {
            if (client.followRedirects() != HttpClient.Redirect.NEVER) {
                throw new BadRequestException("the HTTP client must not follow redirections");
            }
            http = client;
            return this;
        }

        /** How long to wait for an answer: 5 seconds by default. */
        public Builder timeout(Duration timeout) {
            if (timeout.isZero() || timeout.isNegative()) throw new BadRequestException("a timeout is positive");
            this.timeout = timeout;
            return this;
        }

        /** For how long to repeat what failed: 10 seconds by default. With zero everything is sent once. */
        public Builder patience(Duration patience) {
            if (patience.isNegative()) throw new BadRequestException("patience is not negative");
            this.patience = patience;
            return this;
        }

        public LeaseholdClient build() {
            return new LeaseholdClient(this);
        }

        private Supplier<String> token() {
            if (token != null) return token;
            String file = System.getenv("LEASEHOLD_TOKEN_FILE");
            if (file != null && !file.isEmpty()) return () -> firstLine(Path.of(file));
            String given = System.getenv("LEASEHOLD_TOKEN");
            return () -> given;
        }

        private HttpClient http() {
            boolean ownTls = caFile != null || certificate != null;
            if (http != null && (ownTls || sslContext != null)) {
                throw new BadRequestException("an HTTP client of your own brings its own TLS");
            }
            if (sslContext != null && ownTls) throw new BadRequestException("give certificates or an SSLContext, not both");
            if (!tls && (ownTls || sslContext != null)) {
                throw new BadRequestException("certificates need a URL that begins with https://");
            }
            if (http != null) return http;
            HttpClient.Builder made = HttpClient.newBuilder()
                    .version(HttpClient.Version.HTTP_1_1)
                    .followRedirects(HttpClient.Redirect.NEVER)
                    .connectTimeout(timeout);
            if (sslContext != null) made.sslContext(sslContext);
            if (ownTls) made.sslContext(Certificates.context(caFile, certificate, key));
            return made.build();
        }

        private static String firstLine(Path file) {
            try {
                String text = new String(SmallFile.read(file, 64), StandardCharsets.UTF_8);
                String line = text.lines().findFirst().orElse("");
                if (!line.isEmpty()) return line;
            } catch (IOException error) {
                throw new BadRequestException("the token file cannot be read: " + error, error);
            }
            throw new BadRequestException("the first line of the token file is empty: " + file);
        }
    }
}
