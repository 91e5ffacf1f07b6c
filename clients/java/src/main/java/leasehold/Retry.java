package leasehold;

import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;

/** The pauses between attempts: 20 ms at first, growing to 500 ms, random so that clients do not ask in step. */
final class Retry {
    static final long NO_MORE = -1;

    private static final long LONGEST_PAUSE = 500_000_000L;

    private final long until; // on SteadyClock
    private long pause = 20_000_000L;

    Retry(long until) {
        this.until = until;
    }

    /** In nanoseconds; NO_MORE if there is to be no further attempt. */
    long next(Duration atLeast) {
        long left = until - SteadyClock.now();
        long least = SteadyClock.nanos(atLeast);
        if (left <= 0 || least >= left) return NO_MORE;
        long drawn = ThreadLocalRandom.current().nextLong(pause / 2, pause);
        pause = Math.min(2 * pause, LONGEST_PAUSE);
        return Math.min(Math.max(least, drawn), left);
    }
}
