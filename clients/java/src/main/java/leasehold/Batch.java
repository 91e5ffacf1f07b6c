package leasehold;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Several requests in one round trip, each atomic by itself:
 *
 * <pre>{@code
 * Batch batch = client.batch();
 * Batch.Answer<Lease> taken = batch.tryLock("Order/1", Terms.of("alice"));
 * Batch.Answer<Lease> renewed = batch.renew(other, Duration.ofMinutes(5));
 * batch.send();
 * System.out.println(taken.get());
 * }</pre>
 *
 * <p>Refusals and faults of single requests are thrown by {@link Answer#get()}. Not thread-safe.
 */
public final class Batch {
    /** The answer to one request of a batch, once the batch is sent. */
    public static final class Answer<T> {
        private final Wire.Reader<T> reader;
        private T value;
        private LeaseholdException failure;

        Answer(Wire.Reader<T> reader) {
            this.reader = reader;
        }

        /** What the request returns. Throws the refusal or the fault of this request. */
        public T get() {
            LeaseholdException wrong = failure();
            if (wrong != null) throw wrong;
            return value;
        }

        /** The refusal or the fault of this request; null if it succeeded. */
        public LeaseholdException failure() {
            if (value == null && failure == null) throw new IllegalStateException("the batch has no answer yet");
            return failure;
        }

        private void take(JsonFields answer, long askedAt) {
            if (answer.has("refused")) {
                failure = Wire.refusal(answer.object("refused"), Duration.ZERO);
            } else if (answer.has("fault")) {
                failure = Wire.fault(answer.object("fault"));
            } else {
                value = reader.read(answer, askedAt);
            }
        }
    }

    private final Calls calls;
    private final List<Map<String, Object>> requests = new ArrayList<>();
    private final List<Answer<?>> answers = new ArrayList<>();
    private boolean repeatable = true;
    private boolean changes;

    Batch(Calls calls) {
        this.calls = calls;
    }

    /** As {@link LeaseholdClient#tryLock(Key, Terms)}. */
    public Answer<Lease> tryLock(Key key, Terms terms) {
        Map<String, Object> fields = fields("try", key, lockId(terms));
        fields.putAll(terms.fields());
        changes = true;
        return add(fields, (answer, askedAt) -> Wire.lease(answer.object("lease"), askedAt, key, null));
    }

    /** As {@link LeaseholdClient#tryLock(Key, Terms)}. */
    public Answer<Lease> tryLock(String key, Terms terms) {
        return tryLock(Key.parse(key), terms);
    }

    /** As {@link LeaseholdClient#tryAll}. */
    public Answer<List<Lease>> tryAll(List<Key> keys, Terms terms) {
        if (terms.lockId() != null) throw new BadRequestException("a lock id is for one key only");
        List<Key> named = List.copyOf(keys);
        List<Map<String, Object>> rows = new ArrayList<>();
        for (Key key : named) rows.add(name(key, LeaseholdClient.newLockId()));
        Map<String, Object> fields = new LinkedHashMap<>(Map.of("op", "try_all", "keys", rows));
        fields.putAll(terms.fields());
        changes = true;
        return add(fields, (answer, askedAt) -> Wire.leases(answer, askedAt, named));
    }

    /** As {@link LeaseholdClient#check}. */
    public Answer<Lease> check(Leased lease) {
        return about("check", lease, Map.of());
    }

    /** As {@link LeaseholdClient#renew(Leased, Duration)}. */
    public Answer<Lease> renew(Leased lease, Duration ttl) {
        changes = true;
        return about("renew", lease, Map.of("ttl_ms", Wire.milliseconds(ttl)));
    }

    Answer<Lease> renew(Leased lease, Map<String, Object> times) {
        changes = true;
        return about("renew", lease, times);
    }

    /** As {@link LeaseholdClient#extend}. A batch with an extension is not repeated after an unknown effect. */
    public Answer<Lease> extend(Leased lease, Duration by) {
        changes = true;
        repeatable = false;
        return about("extend", lease, Map.of("extend_ms", Wire.milliseconds(by)));
    }

    /** Ends the lease, and returns it. Refused as gone if it had ended before. */
    public Answer<Lease> release(Leased lease) {
        changes = true;
        return about("release", lease, Map.of());
    }

    /** As {@link LeaseholdClient#releaseAll}. A batch with it is not repeated after an unknown effect. */
    public Answer<List<Holder>> releaseAll(String owner, OwnerScope scope) {
        changes = true;
        repeatable = false;
        Map<String, Object> fields = new LinkedHashMap<>(Map.of("op", "release_all", "owner", owner));
        if (scope != OwnerScope.EXACT) fields.put("scope", Words.of(scope));
        return add(fields, (answer, askedAt) -> answer.list("leases", Wire::endedLease));
    }

    /** As {@link LeaseholdClient#holders(Key)}. */
    public Answer<Holders> holders(Key key) {
        Map<String, Object> fields = fields("holders", key, null);
        return add(fields, (answer, askedAt) -> Wire.holders(answer));
    }

    /**
     * Sends the requests. If the whole batch fails, its FaultException is thrown. The batch may then be sent again: its
     * tries have the same lock ids.
     */
    public void send() {
        Map<String, Object> body = Map.of("requests", requests);
        Request request = changes ? Request.changing("POST", "/v1/batch", body) : Request.reading("/v1/batch", body);
        calls.ask(repeatable ? request.thatMayBeRepeated() : request, (message, askedAt) -> {
            List<JsonFields> read = message.list("answers", JsonFields::of);
            if (read.size() != answers.size()) throw new NotUnderstood("not as many answers as requests");
            for (int i = 0; i < read.size(); ++i) answers.get(i).take(read.get(i), askedAt);
            return this;
        });
    }

    private Answer<Lease> about(String op, Leased lease, Map<String, Object> more) {
        Key key = lease.leasedKey().orElse(null);
        Map<String, Object> fields = fields(op, key, lease.lockId());
        fields.putAll(more);
        return add(fields, (answer, askedAt) -> Wire.lease(answer.object("lease"), askedAt, key, lease.lockId()));
    }

    private <T> Answer<T> add(Map<String, Object> fields, Wire.Reader<T> reader) {
        Answer<T> answer = new Answer<>(reader);
        requests.add(fields);
        answers.add(answer);
        return answer;
    }

    private static String lockId(Terms terms) {
        return terms.lockId() == null ? LeaseholdClient.newLockId() : terms.lockId();
    }

    private static Map<String, Object> fields(String op, Key key, String lockId) {
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("op", op);
        fields.putAll(name(key, lockId));
        return fields;
    }

    private static Map<String, Object> name(Key key, String lockId) {
        Map<String, Object> fields = new LinkedHashMap<>();
        if (key != null) {
            fields.put("type", key.type());
            fields.put("id", key.id());
        }
        if (lockId != null) fields.put("lock_id", lockId);
        return fields;
    }
}
