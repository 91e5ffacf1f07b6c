package leasehold;

import java.time.Instant;

/** A lease that ended. */
public final class PastLease extends Holder {
    private final Ending ending;
    private final Instant endedAt;
    private final long sequence;

    PastLease(Holder publicPart, Ending ending, Instant endedAt, long sequence) {
        super(publicPart);
        this.ending = ending;
        this.endedAt = endedAt;
        this.sequence = sequence;
    }

    public Ending ending() {
        return ending;
    }

    public Instant endedAt() {
        return endedAt;
    }

    /** Grows from one ended lease to the next. */
    public long sequence() {
        return sequence;
    }

    @Override
    public String toString() {
        return key() + " was held by " + owner() + ", fence " + fence() + ", " + ending;
    }
}
