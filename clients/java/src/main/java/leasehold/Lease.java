package leasehold;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** One grant of a key to an owner. */
public final class Lease extends Holder implements Leased {
    static final Duration FOR_EVER = Duration.ofNanos(Long.MAX_VALUE);

    private final String lockId;
    private final long validUntil; // on SteadyClock; Long.MAX_VALUE without an expiry
    private final List<Knock> knocks;

    Lease(Holder publicPart, String lockId, long validUntil, List<Knock> knocks) {
        super(publicPart);
        this.lockId = lockId;
        this.validUntil = validUntil;
        this.knocks = knocks;
    }

    @Override
    public Optional<Key> leasedKey() {
        return Optional.of(key());
    }

    @Override
    public String lockId() {
        return lockId;
    }

    /**
     * For how long the lease is certainly valid, unless somebody breaks it; negative after that. Counted on this
     * machine's steady clock from before the request was sent, so that a slow answer shortens it.
     */
    public Duration validFor() {
        return validUntil == Long.MAX_VALUE ? FOR_EVER : Duration.ofNanos(validUntil - SteadyClock.now());
    }

    long validUntil() {
        return validUntil;
    }

    /** Who asked for the key, as far as the answer names them. */
    public List<Knock> knocks() {
        return knocks;
    }

    /** Without the secret. */
    @Override
    public String toString() {
        return "lease of " + key() + (owner().isEmpty() ? "" : " for " + owner()) + ", fence " + fence();
    }
}
