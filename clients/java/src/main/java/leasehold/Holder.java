package leasehold;

import java.time.Duration;
import java.time.Instant;
import java.util.Optional;

/** The public part of a lease. Times are the store's. */
public class Holder {
    private final Key key;
    private final String owner;
    private final Mode mode;
    private final long fence;
    private final Instant grantedAt;
    private final Instant expiresAt; // null: until it is released
    private final String note;
    private final Instant storeNow;

    Holder(
            Key key,
            String owner,
            Mode mode,
            long fence,
            Instant grantedAt,
            Instant expiresAt,
            String note,
            Instant storeNow) {
        this.key = key;
        this.owner = owner;
        this.mode = mode;
        this.fence = fence;
        this.grantedAt = grantedAt;
        this.expiresAt = expiresAt;
        this.note = note;
        this.storeNow = storeNow;
    }

    Holder(Holder other) {
        this(
                other.key,
                other.owner,
                other.mode,
                other.fence,
                other.grantedAt,
                other.expiresAt,
                other.note,
                other.storeNow);
    }

    public final Key key() {
        return key;
    }

    public final String owner() {
        return owner;
    }

    public final Mode mode() {
        return mode;
    }

    /** Every grant of a key has a greater fence than the grants before it. Pass it to what you write to. */
    public final long fence() {
        return fence;
    }

    public final Instant grantedAt() {
        return grantedAt;
    }

    /** Empty if the lease lasts until it is released. */
    public final Optional<Instant> expiresAt() {
        return Optional.ofNullable(expiresAt);
    }

    public final String note() {
        return note;
    }

    /** The store's time of this answer. */
    public final Instant storeNow() {
        return storeNow;
    }

    /** From the server's answer to the expiry; empty if the lease lasts until it is released. */
    public final Optional<Duration> remaining() {
        return expiresAt().map(expiry -> Duration.between(storeNow, expiry));
    }

    @Override
    public String toString() {
        return key + " held by " + (owner.isEmpty() ? "somebody" : owner) + ", fence " + fence;
    }
}
