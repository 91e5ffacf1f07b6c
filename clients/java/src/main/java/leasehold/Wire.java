package leasehold;

import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Requests as they are sent, and answers as they are read. No input or output happens here. */
final class Wire {
    static final int LONGEST_ANSWER = 64 << 20;

    /** What an answer in JSON is read into. The number is {@link Response#askedAt}. */
    interface Reader<T> {
        T read(JsonFields answer, long askedAt);
    }

    private Wire() {}

    // Requests

    /** Rounded up to whole milliseconds. */
    static long milliseconds(Duration duration) {
        try {
            return Math.addExact(duration.toMillis(), duration.getNano() % 1_000_000 == 0 ? 0 : 1);
        } catch (ArithmeticException tooLong) {
            throw new BadRequestException("a duration of " + duration + " is too long", tooLong);
        }
    }

    static String keyPath(Key key) {
        for (String part : List.of(key.type(), key.id())) {
            if (part.equals(".") || part.equals("..")) { // proxies remove them from a URL, encoded or not
                throw new BadRequestException("a URL cannot name a key whose type or id is '.' or '..'");
            }
            if (part.isEmpty()) throw new BadRequestException("the key \"" + key + "\" has an empty part; write TYPE/ID");
        }
        return "/v1/locks/" + encoded(key.type()) + "/" + encoded(key.id());
    }

    static String withQuery(String path, Map<String, String> parameters) {
        StringBuilder out = new StringBuilder(path);
        char before = '?';
        for (Map.Entry<String, String> one : parameters.entrySet()) {
            out.append(before).append(one.getKey()).append('=').append(encoded(one.getValue()));
            before = '&';
        }
        return out.toString();
    }

    static String encoded(String text) {
        StringBuilder out = new StringBuilder();
        for (byte one : Json.utf8(text)) {
            char letter = (char) (one & 0xff);
            boolean plain = letter < 128 && (Character.isLetterOrDigit(letter) || "-._~".indexOf(letter) >= 0);
            if (plain) {
                out.append(letter);
            } else {
                out.append(String.format("%%%02X", (int) letter));
            }
        }
        return out.toString();
    }

    /** Text for a header field. */
    static String visible(String text, String what) {
        boolean good = !text.isEmpty() && text.chars().allMatch(letter -> letter > ' ' && letter < 127);
        if (!good) throw new BadRequestException(what);
        return text;
    }

    // Answers

    /** What {@code reader} makes of the JSON of a successful answer. Throws RefusedException and FaultException. */
    static <T> T read(Response response, Request request, Reader<T> reader) {
        if (response.status < 200 || response.status > 299) throw problemIn(response, request.effectOnceSent);
        try {
            return reader.read(JsonFields.of(Json.parse(response.body)), response.askedAt);
        } catch (NotUnderstood wrong) {
            throw notUnderstood(request.method, wrong.getMessage(), request.effectOnceSent, response.status);
        }
    }

    static FaultException notUnderstood(String method, String what, Effect effect, int status) {
        String text = "the answer to " + method + " was not understood: " + what;
        return new FaultException(text, effect, FaultException.Kind.INTERNAL, status, "", Duration.ZERO, null);
    }

    static LeaseholdException problemIn(Response response, Effect effectOnceSent) {
        JsonFields problem = JsonFields.of(Map.of());
        try {
            problem = JsonFields.of(Json.parse(response.body));
        } catch (NotUnderstood page) {
            // of a proxy
        }
        int status = response.status;
        String code = problem.text("code", "");
        boolean refused = code.equals("held") || code.equals("gone") || code.equals("busy");
        if (refused && (status == 409 || status == 410)) {
            try {
                return refusal(problem, response.retryAfter());
            } catch (NotUnderstood wrong) {
                return notUnderstood("a request", wrong.getMessage(), effectOnceSent, status);
            }
        }
        String text = "the server answered " + status + ": " + problem.text("detail", "no reason given");
        if (status == 400) {
            Duration longest =
                    problem.hasValue("longest_wait_ms") ? Duration.ofMillis(problem.number("longest_wait_ms")) : null;
            return new BadRequestException(text, status, longest);
        }
        // A request that was refused was not started. If it was started, the server says so.
        boolean untouched = status >= 300 && status < 500
                || problem.text("effect", "").equals("none")
                || code.equals("overloaded");
        Effect effect = untouched ? Effect.NONE : effectOnceSent;
        return new FaultException(text, effect, kindOf(status, code, problem), status, code, response.retryAfter(), null);
    }

    private static FaultException.Kind kindOf(int status, String code, JsonFields problem) {
        String cause = problem.text("cause", "");
        if (!cause.isEmpty()) return Words.parse(FaultException.Kind.class, cause, FaultException.Kind.OTHER);
        if (code.equals("lock_id_in_use")) return FaultException.Kind.LOCK_ID_IN_USE;
        if (status == 401 || status == 403) return FaultException.Kind.NOT_ALLOWED;
        if (status == 408 || status == 429 || status < 300 || status >= 500) return FaultException.Kind.UNAVAILABLE;
        return FaultException.Kind.CONFIGURATION; // any other refusal would be repeated
    }

    static RefusedException refusal(JsonFields problem, Duration retryAfter) {
        String detail = problem.text("detail");
        switch (problem.text("code")) {
            case "gone":
                return new GoneException(detail, ending(problem));
            case "busy":
                return new BusyException(detail);
            case "held":
                Instant storeNow = moment(problem.text("store_now"));
                List<Holder> holders = problem.list("holders", one -> holder(JsonFields.of(one), storeNow));
                return new HeldByOthersException(detail, holders, problem.number("holders_in_all"), retryAfter);
            default:
                throw new NotUnderstood("the refusal " + problem.text("code") + " is not known");
        }
    }

    static Ending ending(JsonFields problem) {
        Ending.Reason reason = Words.parse(Ending.Reason.class, problem.text("reason"), Ending.Reason.UNKNOWN);
        return new Ending(reason, problem.text("by", ""), problem.text("why", ""));
    }

    /** Of a request in a batch. */
    static FaultException fault(JsonFields problem) {
        Effect effect = problem.text("effect").equals("none") ? Effect.NONE : Effect.UNKNOWN;
        FaultException.Kind kind =
                Words.parse(FaultException.Kind.class, problem.text("cause"), FaultException.Kind.OTHER);
        return new FaultException(problem.text("detail"), effect, kind, 0, "fault", Duration.ZERO, null);
    }

    static Instant moment(String text) {
        try {
            return Instant.parse(text);
        } catch (DateTimeException wrong) {
            throw new NotUnderstood("\"" + text + "\" is no time");
        }
    }

    static Holder holder(JsonFields data, Instant storeNow) {
        return new Holder(
                Key.of(data.text("type"), data.text("id")),
                data.text("owner"),
                Words.parse(Mode.class, data.text("mode")),
                data.number("fence"),
                moment(data.text("granted_at")),
                data.hasValue("expires_at") ? moment(data.text("expires_at")) : null,
                data.text("note"),
                storeNow);
    }

    static Holder endedLease(Object value) {
        JsonFields data = JsonFields.of(value);
        return holder(data, moment(data.text("store_now")));
    }

    static PastLease pastLease(JsonFields data, Instant storeNow) {
        Ending.Reason how = Words.parse(Ending.Reason.class, data.text("how"), Ending.Reason.UNKNOWN);
        return new PastLease(
                holder(data, storeNow),
                new Ending(how, data.text("by"), data.text("why")),
                moment(data.text("ended_at")),
                data.number("sequence"));
    }

    static Holders holders(JsonFields data) {
        Instant storeNow = moment(data.text("store_now"));
        List<Holder> rows = data.list("holders", one -> holder(JsonFields.of(one), storeNow));
        List<String> waiting = data.has("waiting") ? data.list("waiting", Wire::owner) : List.of();
        return new Holders(rows, waiting, storeNow);
    }

    private static String owner(Object value) {
        if (value instanceof String) return (String) value;
        throw new NotUnderstood("an owner is no text");
    }

    /** A lease of this key and with this lock id, if they are not null. */
    static Lease lease(JsonFields data, long askedAt, Key key, String lockId) {
        // Counted from before the request: a slow answer must shorten the lease, never lengthen it.
        long validUntil = data.hasValue("remaining_ms")
                ? askedAt + (long) (data.anyNumber("remaining_ms") * 1e6)
                : Long.MAX_VALUE;
        List<Knock> knocks = data.has("knocks") ? data.list("knocks", Wire::knock) : List.of();
        Holder publicPart = holder(data, moment(data.text("store_now")));
        Lease lease = new Lease(publicPart, data.text("lock_id"), validUntil, knocks);
        if (key != null && !lease.key().equals(key)) throw new NotUnderstood("a lease of another key");
        if (lockId != null && !lease.lockId().equalsIgnoreCase(lockId)) {
            throw new NotUnderstood("a lease with another lock id");
        }
        return lease;
    }

    /** One lease for each key, in the order of the keys. */
    static List<Lease> leases(JsonFields data, long askedAt, List<Key> keys) {
        Map<Key, Lease> byKey = new HashMap<>();
        for (Lease one : data.list("leases", one -> lease(JsonFields.of(one), askedAt, null, null))) {
            byKey.put(one.key(), one);
        }
        List<Lease> ordered = new ArrayList<>();
        for (Key key : keys) {
            if (!byKey.containsKey(key)) throw new NotUnderstood("leases of other keys");
            ordered.add(byKey.get(key));
        }
        if (byKey.size() != keys.size()) throw new NotUnderstood("leases of other keys");
        return List.copyOf(ordered);
    }

    private static Knock knock(Object value) {
        JsonFields data = JsonFields.of(value);
        return new Knock(data.text("by"), data.text("message"), moment(data.text("at")));
    }

}
