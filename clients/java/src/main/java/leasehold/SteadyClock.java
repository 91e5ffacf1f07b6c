package leasehold;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.function.LongSupplier;

/**
 * The holder's own clock, in nanoseconds. It never goes back, and it counts the time while the machine sleeps, as the
 * server's clock does. {@link System#nanoTime()} stops then, so it is compared with the kernel's time since the machine
 * was started, or, where there is no {@code /proc/uptime}, with the clock on the wall: a clock that is set forward makes
 * a lease look shorter there, never longer.
 */
final class SteadyClock {
    /** Timers do not count the time while the machine sleeps: so look at the clock often. */
    static final long LONGEST_NAP = 1_000_000_000L;

    private static final Duration LONGEST = Duration.ofDays(36_500);

    private static final long SMALLEST_SLEEP = 50_000_000L; // what both clocks may differ by otherwise

    private static final SteadyClock THE_CLOCK = new SteadyClock(System::nanoTime, otherClock());

    private final LongSupplier stopping; // stops while the machine sleeps
    private final LongSupplier running; // does not, but may jump
    private final long origin;
    private final long difference;
    private long asleep; // guarded by this

    SteadyClock(LongSupplier stopping, LongSupplier running) {
        this.stopping = stopping;
        this.running = running;
        origin = stopping.getAsLong();
        difference = running.getAsLong() - origin;
    }

    static long now() {
        return THE_CLOCK.read();
    }

    synchronized long read() {
        long awake = stopping.getAsLong();
        long slept = running.getAsLong() - awake - difference;
        if (slept > asleep + SMALLEST_SLEEP) asleep = slept;
        return awake - origin + asleep;
    }

    /** The time after this duration. A duration of centuries does not overflow. */
    static long after(Duration duration) {
        return now() + nanos(duration);
    }

    static long nanos(Duration duration) {
        return duration.compareTo(LONGEST) < 0 ? duration.toNanos() : LONGEST.toNanos();
    }

    private static LongSupplier otherClock() {
        try {
            RandomAccessFile file = new RandomAccessFile("/proc/uptime", "r");
            if (uptime(file) > 0) return () -> uptime(file);
            file.close();
        } catch (IOException | RuntimeException notLinux) {
            // the clock on the wall then
        }
        return () -> System.currentTimeMillis() * 1_000_000L;
    }

    /** Called by one thread at a time. */
    private static long uptime(RandomAccessFile file) {
        byte[] text = new byte[64];
        int length;
        try {
            file.seek(0);
            length = file.read(text);
        } catch (IOException unlikely) {
            return Long.MIN_VALUE / 2; // no news
        }
        String[] seconds = new String(text, 0, Math.max(length, 0), StandardCharsets.US_ASCII).split(" ", 2)[0].split("\\.");
        return Long.parseLong(seconds[0]) * 1_000_000_000L + Long.parseLong(seconds[1]) * 10_000_000L;
    }
}
