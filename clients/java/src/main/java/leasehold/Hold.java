package leasehold;

import java.time.Duration;
import java.util.Objects;
import java.util.function.Consumer;

/**
 * How a lease is held: {@code Hold.options().waiting(Duration.ofSeconds(30)).interrupting()}. Each method returns new
 * options and leaves these as they are.
 */
public final class Hold {
    private static final Duration DEFAULT_TTL = Duration.ofMinutes(1);

    private final Duration wait;
    private final Duration every; // null: a third of the ttl
    private final Duration margin; // null: a tenth of the ttl
    private final Consumer<LeaseLostException> onLost; // null: nobody is called
    private final boolean interrupting;

    private Hold(
            Duration wait,
            Duration every,
            Duration margin,
            Consumer<LeaseLostException> onLost,
            boolean interrupting) {
        this.wait = wait;
        this.every = every;
        this.margin = margin;
        this.onLost = onLost;
        this.interrupting = interrupting;
    }

    /** Takes the key at once or is refused, renews every third of the ttl, and stops a tenth of it before the expiry. */
    public static Hold options() {
        return new Hold(Duration.ZERO, null, null, null, false);
    }

    /** How long to wait for the key while others hold it: first come, first served. */
    public Hold waiting(Duration wait) {
        return new Hold(Objects.requireNonNull(wait, "wait"), every, margin, onLost, interrupting);
    }

    /** The time between two renewals. */
    public Hold every(Duration every) {
        return new Hold(wait, Objects.requireNonNull(every, "every"), margin, onLost, interrupting);
    }

    /** How long before the expiry the lease counts as lost: as long as your work needs to stop. */
    public Hold margin(Duration margin) {
        return new Hold(wait, every, Objects.requireNonNull(margin, "margin"), onLost, interrupting);
    }

    /** Called once when the lease is lost, on a thread of its own. */
    public Hold onLost(Consumer<LeaseLostException> onLost) {
        return new Hold(wait, every, margin, Objects.requireNonNull(onLost, "onLost"), interrupting);
    }

    /**
     * Interrupts the thread that called {@code hold()} when the lease is lost. {@link Held#close()} on that thread clears an
     * interrupt that nobody has noticed by then.
     */
    public Hold interrupting() {
        return new Hold(wait, every, margin, onLost, true);
    }

    Duration waiting() {
        return wait;
    }

    Consumer<LeaseLostException> onLost() {
        return onLost;
    }

    boolean isInterrupting() {
        return interrupting;
    }

    /** The terms to ask with: a lease that is held has a ttl with an end. */
    static Terms withTtl(Terms terms) {
        return terms.fields().containsKey("ttl_ms") ? terms : terms.ttl(DEFAULT_TTL);
    }

    /** The times in nanoseconds: of the ttl, between renewals, and before the expiry. Throws BadRequestException. */
    long[] times(Terms terms) {
        Object ttl = terms.fields().get("ttl_ms");
        if (ttl == null) throw new BadRequestException("a lease that is held needs a ttl with an end");
        try {
            long whole = Duration.ofMillis((Long) ttl).toNanos();
            long[] times = {whole, every == null ? whole / 3 : every.toNanos(), margin == null ? whole / 10 : margin.toNanos()};
            if (times[1] > 0 && times[2] >= 0 && times[1] < whole - times[2]) return times;
        } catch (ArithmeticException tooLong) {
            // as below
        }
        throw new BadRequestException("a lease that is held needs 0 < every, 0 <= margin and every + margin < ttl");
    }
}
