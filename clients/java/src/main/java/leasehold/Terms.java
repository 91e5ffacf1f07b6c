package leasehold;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

/**
 * Who takes a key, and how: {@code Terms.of("alice/tab-2").ttl(Duration.ofMinutes(5)).note("on the phone")}. Each method
 * returns new terms and leaves these as they are.
 */
public final class Terms {
    private final Map<String, Object> fields; // as they are sent
    private final String lockId; // null: the client draws one

    private Terms(Map<String, Object> fields, String lockId) {
        this.fields = fields;
        this.lockId = lockId;
    }

    /**
     * Terms of an owner: a path from the general to the specific, such as {@code alice/session-7/tab-2} or the name of a
     * host and a process. Give each holder an owner of its own: an owner that asks again gets its own lease back.
     */
    public static Terms of(String owner) {
        return anonymous().with("owner", owner.isEmpty() ? null : owner);
    }

    /** Terms without an owner: each try is somebody else's. */
    public static Terms anonymous() {
        return new Terms(Map.of(), null);
    }

    /** How long the lease lives unless it is renewed. By default the server decides. */
    public Terms ttl(Duration ttl) {
        return with("ttl_ms", Wire.milliseconds(ttl));
    }

    /** A lease that lives until it is released, if the server permits that. */
    public Terms untilReleased() {
        Map<String, Object> changed = new LinkedHashMap<>(fields);
        changed.put("ttl_ms", null);
        return new Terms(changed, lockId);
    }

    /** Others may share the key. */
    public Terms shared() {
        return with("mode", Mode.SHARED.word());
    }

    /** As many leases can share the key, and one more is refused. All who take the key give the same number. */
    public Terms places(int places) {
        return with("places", places);
    }

    /** A text for people who are refused. */
    public Terms note(String note) {
        return with("note", note.isEmpty() ? null : note);
    }

    /** Grants the key only if nobody was granted it after this fence; otherwise the try is refused as gone. */
    public Terms since(long fence) {
        return with("since", fence);
    }

    /** How long the lease can live in all, however often it is renewed. */
    public Terms maxHold(Duration maxHold) {
        return with("max_hold_ms", Wire.milliseconds(maxHold));
    }

    /**
     * A lock id that you drew with {@link LeaseholdClient#newLockId()}, to be able to repeat the try yourself after a
     * {@link FaultException}, even in another process. For one key only.
     */
    public Terms lockId(String lockId) {
        return new Terms(fields, Objects.requireNonNull(lockId, "lockId"));
    }

    Map<String, Object> fields() {
        return fields;
    }

    /** Null if the client is to draw one. */
    String lockId() {
        return lockId;
    }

    /** In milliseconds; null if there is none. */
    Object maxHold() {
        return fields.get("max_hold_ms");
    }

    private Terms with(String name, Object value) {
        Map<String, Object> changed = new LinkedHashMap<>(fields);
        changed.remove(name);
        if (value != null) changed.put(name, value);
        return new Terms(changed, lockId);
    }
}
