package leasehold;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

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

    private static final Object MUTEX = new Object();
    private static final RandomAccessFile UPTIME = openUptime(); // guarded by MUTEX
    private static final long ORIGIN = System.nanoTime();
    private static final long AWAKE_BEFORE = otherClock() - ORIGIN;
    private static long asleep; // guarded by MUTEX

    private SteadyClock() {}

    static long now() {
        synchronized (MUTEX) {
            long awake = System.nanoTime();
            long difference = otherClock() - awake - AWAKE_BEFORE;
            if (difference > asleep + SMALLEST_SLEEP) asleep = difference;
            return awake - ORIGIN + asleep;
        }
    }

    /** The time after this duration. A duration of centuries does not overflow. */
    static long after(Duration duration) {
        return now() + nanos(duration);
    }

    static long nanos(Duration duration) {
        return duration.compareTo(LONGEST) < 0 ? duration.toNanos() : LONGEST.toNanos();
    }

    private static RandomAccessFile openUptime() {
        try {
            RandomAccessFile file = new RandomAccessFile("/proc/uptime", "r");
            if (uptime(file) > 0) return file;
            file.close();
        } catch (IOException | RuntimeException notLinux) {
            // the clock on the wall then
        }
        return null;
    }

    private static long otherClock() {
        if (UPTIME != null) {
            try {
                return uptime(UPTIME);
            } catch (IOException | RuntimeException unlikely) {
                return Long.MIN_VALUE / 2; // no news
            }
        }
        return System.currentTimeMillis() * 1_000_000L;
    }

    private static long uptime(RandomAccessFile file) throws IOException {
        byte[] text = new byte[64];
        file.seek(0);
        int length = file.read(text);
        String[] seconds = new String(text, 0, Math.max(length, 0), StandardCharsets.US_ASCII).split(" ", 2)[0].split("\\.");
        return Long.parseLong(seconds[0]) * 1_000_000_000L + Long.parseLong(seconds[1]) * 10_000_000L;
    }
}
