package leasehold;

import static leasehold.Tests.eventually;
import static leasehold.Tests.that;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** clients/scenarios.json. Scenarios mostly wait: some run at the same time, each with a server of its own. */
final class ScenariosTest implements Tests.Suite {
    private final ExecutorService pool = Executors.newFixedThreadPool(8);

    @Override
    public List<Tests.Case> cases() throws Exception {
        List<Tests.Case> cases = new ArrayList<>();
        for (Object one : list(fields(Json.parse(Host.read("clients/scenarios.json"))).get("scenarios"))) {
            Map<String, Object> scenario = fields(one);
            Future<?> done = pool.submit(() -> {
                new Scenario(scenario).execute();
                return null;
            });
            cases.add(new Tests.Case((String) scenario.get("name"), () -> result(done)));
        }
        return cases;
    }

    @Override
    public void close() {
        pool.shutdown();
    }

    private static Object result(Future<?> done) throws Exception {
        try {
            return done.get();
        } catch (ExecutionException failed) {
            throw failed.getCause() instanceof Exception ? (Exception) failed.getCause() : failed;
        }
    }

    @SuppressWarnings("unchecked")
    static Map<String, Object> fields(Object value) {
        return (Map<String, Object>) value;
    }

    @SuppressWarnings("unchecked")
    static List<Object> list(Object value) {
        return (List<Object>) value;
    }

    /** {@code $name}: a lock id that is drawn at its first use in a request, or what an answer had at the first use there. */
    private static final class Variables {
        private final Map<String, Object> values;

        Variables(Map<String, Object> values) {
            this.values = new HashMap<>(values);
        }

        static boolean isName(Object value) {
            return value instanceof String && ((String) value).startsWith("$");
        }

        synchronized Object filled(Object value) {
            return isName(value) ? values.computeIfAbsent((String) value, name -> LeaseholdClient.newLockId()) : value;
        }

        synchronized Object expected(Object value, Object actual) {
            if (!isName(value)) return value;
            values.putIfAbsent((String) value, actual);
            return values.get(value);
        }

        synchronized Object get(Object name) {
            return values.get(name);
        }

        synchronized Variables copy() {
            return new Variables(values);
        }
    }

    private static final Set<String> OPERATORS = Set.of("at_least", "at_most", "greater_than", "one_of");

    /** What is wrong with the answer; null if nothing is. */
    private static String mismatch(Object wanted, Object actual, Variables variables, String where) {
        Object expected = variables.expected(wanted, actual);
        if (expected instanceof Map && !fields(expected).isEmpty() && OPERATORS.containsAll(fields(expected).keySet())) {
            for (Map.Entry<String, Object> bound : fields(expected).entrySet()) {
                if (!holds(bound.getKey(), bound.getValue(), actual, variables)) {
                    return where + " is " + actual + ", not " + expected;
                }
            }
            return null;
        }
        if (expected instanceof Map) {
            if (!(actual instanceof Map)) return where + " is " + actual;
            for (Map.Entry<String, Object> field : fields(expected).entrySet()) {
                String name = field.getKey();
                if (!fields(actual).containsKey(name)) return where + " has no " + name + ": " + actual;
                String wrong = mismatch(field.getValue(), fields(actual).get(name), variables, where + "." + name);
                if (wrong != null) return wrong;
            }
            return null;
        }
        if (expected instanceof List) {
            if (!(actual instanceof List) || list(actual).size() != list(expected).size()) return where + " is " + actual;
            for (int i = 0; i < list(expected).size(); ++i) {
                String wrong = mismatch(list(expected).get(i), list(actual).get(i), variables, where + "[" + i + "]");
                if (wrong != null) return wrong;
            }
            return null;
        }
        return expected.equals(actual) ? null : where + " is " + actual + ", not " + expected;
    }

    private static boolean holds(String operator, Object bound, Object actual, Variables variables) {
        switch (operator) {
            case "at_least":
                return (long) actual >= (long) bound;
            case "at_most":
                return (long) actual <= (long) bound;
            case "greater_than":
                return (long) actual > (long) variables.get(bound);
            default:
                return list(bound).contains(actual);
        }
    }

    // Answers in the words of the scenarios

    private static Map<String, Object> plain(Holder holder) {
        Map<String, Object> out = new LinkedHashMap<>();
        out.put("type", holder.key().type());
        out.put("id", holder.key().id());
        out.put("owner", holder.owner());
        out.put("mode", Words.of(holder.mode()));
        out.put("fence", holder.fence());
        out.put("note", holder.note());
        if (holder instanceof Lease) {
            Lease lease = (Lease) holder;
            out.put("lock_id", lease.lockId());
            out.put("valid_for_ms", lease.validFor().toMillis());
            out.put("knocks", each(lease.knocks(), knock -> Map.of("by", knock.by(), "message", knock.message())));
        }
        if (holder instanceof PastLease) out.putAll(plain(((PastLease) holder).ending(), "how"));
        return out;
    }

    private static Map<String, Object> plain(Ending ending, String reason) {
        return Map.of(reason, Words.of(ending.reason()), "by", ending.by(), "why", ending.why());
    }

    private static <T> List<Object> each(List<T> values, Function<T, Object> reader) {
        return values.stream().map(reader).collect(Collectors.toList());
    }

    private static List<Object> plain(List<? extends Holder> holders) {
        return holders.stream().map(one -> plain(one)).collect(Collectors.toList());
    }

    private static Map<String, Object> refusedAsGone(Ending ending) {
        Map<String, Object> out = new LinkedHashMap<>(plain(ending, "reason"));
        out.put("code", "gone");
        return Map.of("refused", out);
    }

    private static Map<String, Object> plain(LeaseholdException error) {
        if (error instanceof HeldByOthersException) {
            HeldByOthersException held = (HeldByOthersException) error;
            return Map.of("refused", Map.of(
                    "code", "held", "holders", plain(held.holders()), "holders_in_all", held.holdersInAll()));
        }
        if (error instanceof GoneException) return refusedAsGone(((GoneException) error).ending());
        if (error instanceof BusyException) return Map.of("refused", Map.of("code", "busy"));
        FaultException fault = (FaultException) error;
        return Map.of("fault", Map.of(
                "effect", Words.of(fault.effect()),
                "passing", fault.mayPass(),
                "retry_after_ms", fault.retryAfter().toMillis()));
    }

    private static Map<String, Object> answered(Object answer) {
        if (answer instanceof Holders) {
            Holders holders = (Holders) answer;
            return Map.of("holders", plain(holders.holders()), "waiting", holders.waiting());
        }
        return Map.of("lease", plain((Holder) answer));
    }

    private static final class Scenario {
        private final Map<String, Object> scenario;
        private final Variables variables = new Variables(Map.of());
        private final Map<Object, LeaseholdClient> clients = new HashMap<>();
        private Host host;

        Scenario(Map<String, Object> scenario) {
            this.scenario = scenario;
        }

        void execute() throws Exception {
            Map<Object, Background<Object>> started = new HashMap<>();
            Map<Object, EventStream> streams = new HashMap<>();
            try (Host given = new Host(scenario.containsKey("server") ? fields(scenario.get("server")) : Map.of())) {
                host = given;
                int number = 0;
                for (Object one : list(scenario.get("steps"))) {
                    step(fields(one), "step " + number++, started, streams);
                }
                that(started.isEmpty(), "never finished: " + started.keySet());
            } finally {
                streams.values().forEach(EventStream::close);
            }
        }

        private void step(
                Map<String, Object> step,
                String where,
                Map<Object, Background<Object>> started,
                Map<Object, EventStream> streams)
                throws Exception {
            Object answer = null;
            if (step.containsKey("gate")) {
                host.gate(list(step.get("gate")).toArray());
            } else if (step.containsKey("server")) {
                host.server(list(step.get("server")).toArray());
            } else if (step.containsKey("pause_ms")) {
                Thread.sleep((long) step.get("pause_ms"));
            } else if (step.containsKey("start")) {
                started.put(step.get("start"), new Background<>(() -> ask(step)));
            } else if (step.containsKey("finish")) {
                answer = started.remove(step.get("finish")).result();
            } else if (step.containsKey("listen")) {
                LeaseholdClient listener = LeaseholdClient.builder(host.gate)
                        .patience(Duration.ofSeconds(Tests.PATIENCE_SECONDS))
                        .build();
                streams.put(step.get("listen"), listener.events(Filter.all().type((String) step.get("type"))));
            } else if (step.containsKey("heard")) {
                Iterator<Event> events = streams.get(step.get("heard")).iterator();
                Event event = events.next();
                Map<String, Object> heard = new LinkedHashMap<>(event.data());
                heard.put("event", event.name());
                answer = heard;
            } else if (Boolean.TRUE.equals(step.get("until"))) {
                Object expected = step.get("expect");
                eventually(where + ": " + expected, () -> mismatch(expected, ask(step), variables.copy(), where) == null);
                return;
            } else {
                answer = ask(step);
            }
            String wrong = step.containsKey("expect") ? mismatch(step.get("expect"), answer, variables, where) : null;
            that(wrong == null, wrong);
        }

        private synchronized LeaseholdClient client(Map<String, Object> step) {
            String url = "server".equals(step.get("via")) ? host.server : host.gate;
            long timeout = (long) step.getOrDefault("timeout_ms", 60_000L);
            return clients.computeIfAbsent(List.of(url, timeout), key -> LeaseholdClient.builder(url)
                    .timeout(Duration.ofMillis(timeout))
                    .patience(Duration.ZERO)
                    .build());
        }

        /** One request, once, and its answer in the words of the scenarios. */
        private Object ask(Map<String, Object> step) {
            try {
                return ask(client(step), step);
            } catch (LeaseholdException error) {
                return plain(error);
            }
        }

        private Object ask(LeaseholdClient client, Map<String, Object> step) {
            Key key = key(step);
            String lockId = (String) variables.filled(step.get("lock_id"));
            Leased lease = key == null || lockId == null ? null : Leased.of(key, lockId);
            OwnerScope scope = "below".equals(step.get("scope")) ? OwnerScope.BELOW : OwnerScope.EXACT;
            switch ((String) step.get("do")) {
                case "try":
                    Terms terms = terms(step, lockId);
                    return answered(step.containsKey("wait_ms")
                            ? client.lockFor(key, millis(step, "wait_ms"), terms)
                            : client.tryLock(key, terms));
                case "check":
                    return answered(client.check(lease));
                case "renew":
                    return answered(client.renew(lease, millis(step, "ttl_ms")));
                case "extend":
                    return answered(client.extend(lease, millis(step, "by_ms")));
                case "release":
                    Optional<Ending> before = client.release(lease);
                    return before.isPresent() ? refusedAsGone(before.get()) : Map.of("released", true);
                case "holders":
                    return answered(client.holders(key));
                case "knock":
                    String message = (String) step.get("message");
                    return Map.of("holders", plain(client.knock(key, message, (String) step.get("owner"))));
                case "break":
                    long fence = (long) variables.filled(step.get("fence"));
                    String reason = (String) step.getOrDefault("reason", "");
                    return Map.of("ended", plain(client.breakLock(key, fence, (String) step.get("by"), reason)));
                case "try_all":
                    List<Key> keys = new ArrayList<>();
                    for (Object one : list(step.get("keys"))) keys.add(key(list(one)));
                    return Map.of("leases", plain(client.tryAll(keys, terms(step, null))));
                case "batch":
                    return batch(client.batch(), list(step.get("requests")));
                case "list":
                    Filter filter = Filter.all();
                    if (step.containsKey("owner")) filter = filter.owner((String) step.get("owner"), scope);
                    if (step.containsKey("limit")) filter = filter.pageRows((int) (long) step.get("limit"));
                    return Map.of("holders", plain(client.list(filter).collect(Collectors.toList())));
                case "history":
                    Stream<PastLease> rows = key == null ? client.history() : client.history(key);
                    return Map.of("history", plain(rows.collect(Collectors.toList())));
                case "release_all":
                    return Map.of("ended", plain(client.releaseAll((String) step.get("owner"), scope)));
                default:
                    throw new AssertionError("unknown step: " + step);
            }
        }

        private Object batch(Batch batch, List<Object> requests) {
            List<Batch.Answer<?>> answers = new ArrayList<>();
            for (Object one : requests) answers.add(add(batch, fields(one)));
            batch.send();
            List<Object> out = new ArrayList<>();
            for (Batch.Answer<?> one : answers) {
                out.add(one.failure() == null ? answered(one.get()) : plain(one.failure()));
            }
            return Map.of("answers", out);
        }

        private Batch.Answer<?> add(Batch batch, Map<String, Object> step) {
            Key key = key(step);
            String lockId = (String) variables.filled(step.get("lock_id"));
            switch ((String) step.get("do")) {
                case "try":
                    return batch.tryLock(key, terms(step, lockId));
                case "check":
                    return batch.check(Leased.of(key, lockId));
                case "renew":
                    return batch.renew(Leased.of(key, lockId), millis(step, "ttl_ms"));
                case "release":
                    return batch.release(Leased.of(key, lockId));
                case "holders":
                    return batch.holders(key);
                default:
                    throw new AssertionError("unknown request: " + step);
            }
        }

        private static Key key(Map<String, Object> step) {
            return step.containsKey("key") ? key(list(step.get("key"))) : null;
        }

        private static Key key(List<Object> names) {
            return Key.of((String) names.get(0), (String) names.get(1));
        }

        private static Duration millis(Map<String, Object> step, String name) {
            return Duration.ofMillis((long) step.get(name));
        }

        private static Terms terms(Map<String, Object> step, String lockId) {
            Terms terms = Terms.of((String) step.getOrDefault("owner", ""));
            if (lockId != null) terms = terms.lockId(lockId);
            if (step.containsKey("ttl_ms")) terms = terms.ttl(millis(step, "ttl_ms"));
            if ("shared".equals(step.get("mode"))) terms = terms.shared();
            if (step.containsKey("places")) terms = terms.places((int) (long) step.get("places"));
            if (step.containsKey("note")) terms = terms.note((String) step.get("note"));
            return terms;
        }
    }
}
