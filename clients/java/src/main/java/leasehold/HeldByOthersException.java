package leasehold;

import java.time.Duration;
import java.util.List;

/** Others hold the key. */
public final class HeldByOthersException extends RefusedException {
    private static final long serialVersionUID = 1;

    private final transient List<Holder> holders;
    private final long holdersInAll;
    private final Duration retryAfter;

    HeldByOthersException(String message, List<Holder> holders, long holdersInAll, Duration retryAfter) {
        super(message);
        this.holders = holders;
        this.holdersInAll = holdersInAll;
        this.retryAfter = retryAfter;
    }

    /** The first ones: at most 16, and fewer if their texts are long. Empty after serialisation. */
    public List<Holder> holders() {
        return holders == null ? List.of() : holders;
    }

    public long holdersInAll() {
        return holdersInAll;
    }

    /** When it makes sense to ask again, unless the key is released before. */
    public Duration retryAfter() {
        return retryAfter;
    }
}
