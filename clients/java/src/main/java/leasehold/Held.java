package leasehold;

import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/**
 * A lease that is kept alive until it is closed. Thread-safe.
 *
 * <ol>
 *   <li>The lease is renewed every third of its ttl.
 *   <li>Its holder may act until a margin, a tenth of the ttl, before the expiry, counted on this machine's steady clock
 *       from before the last confirmed request was sent.
 *   <li>When a renewal is refused, or that time comes before a renewal is confirmed, the lease is lost, for ever: a renewal
 *       that is confirmed later does not bring it back. Nobody else can get the key until the margin has passed too, unless
 *       somebody broke the lease.
 * </ol>
 */
public final class Held implements Leased, AutoCloseable {
    private static final System.Logger LOG = System.getLogger("leasehold");

    private final Calls calls;
    private final Map<String, Object> renewal; // the body of each renewal
    private final long every;
    private final long margin;
    private final Hold options;
    private final Thread holder = Thread.currentThread(); // that may be interrupted
    private final CompletableFuture<LeaseLostException> lost = new CompletableFuture<>();

    // Guarded by this, and so are the following.
    private Lease lease; // as it was confirmed last
    private long actsUntil; // on SteadyClock, as is the next
    private long due;
    private LeaseLostException loss;
    private FaultException trouble = new FaultException(
            "the server did not confirm the lease in time", Effect.NONE, FaultException.Kind.UNAVAILABLE, null);
    private Future<?> timer;
    private boolean renewing;
    private boolean told;
    private boolean interrupted; // by us
    private boolean closed;

    private Held(Calls calls, Lease lease, Terms terms, long[] times, Hold options) {
        this.calls = calls;
        this.lease = lease;
        this.options = options;
        renewal = new LinkedHashMap<>(Map.of("ttl_ms", terms.fields().get("ttl_ms")));
        if (terms.maxHold() != null) renewal.put("max_hold_ms", terms.maxHold());
        every = times[1];
        margin = times[2];
        actsUntil = lease.validUntil() - margin;
        due = SteadyClock.now() + every;
    }

    static Held of(Calls calls, Lease lease, Terms terms, long[] times, Hold options) {
        Held held = new Held(calls, lease, terms, times, options);
        synchronized (held) {
            held.schedule();
        }
        return held;
    }

    // What a holder asks

    /** As it was confirmed last. */
    public synchronized Lease lease() {
        return lease;
    }

    public Key key() {
        return lease().key();
    }

    @Override
    public Optional<Key> leasedKey() {
        return Optional.of(key());
    }

    @Override
    public String lockId() {
        return lease().lockId();
    }

    /** Pass it to what you write to: every grant of the key has a greater fence than the grants before it. */
    public long fence() {
        return lease().fence();
    }

    /** For how long the holder may act, unless the lease is renewed. Negative after that. */
    public synchronized Duration timeLeft() {
        return Duration.ofNanos(actsUntil - SteadyClock.now());
    }

    /** Whether the lease is lost at this moment. Right even after the process was paused. */
    public boolean isLost() {
        return loss().isPresent();
    }

    /** Why the lease is lost; empty while it is held. */
    public synchronized Optional<LeaseLostException> loss() {
        if (loss == null && SteadyClock.now() - actsUntil >= 0) lose(trouble);
        return Optional.ofNullable(loss);
    }

    /**
     * For long work, between its steps.
     *
     * @throws LeaseLostException if the lease is lost
     */
    public void ensure() {
        Optional<LeaseLostException> lost = loss();
        if (lost.isPresent()) throw copy(lost.get());
    }

    /** Completed when the lease is lost, in time to stop. Never completed if it is closed before. */
    public CompletableFuture<LeaseLostException> whenLost() {
        return lost.copy();
    }

    /**
     * Releases the lease. If the server cannot be reached, the lease ends at its expiry, which is logged. To close again
     * does nothing.
     *
     * @throws LeaseLostException if the lease was lost before, so that the work was not protected until its end
     */
    @Override
    public void close() {
        LeaseLostException lost;
        synchronized (this) {
            if (closed) return;
            closed = true;
            if (timer != null) timer.cancel(false);
            if (interrupted && holder == Thread.currentThread()) Thread.interrupted();
            lost = loss().orElse(null);
        }
        Ending before = null;
        boolean wasInterrupted = Thread.interrupted(); // which would end the release at once
        try {
            Duration left = lease().validFor();
            Calls hurried = calls.within(calls.timeout(), left.isNegative() ? Duration.ZERO : left);
            before = LeaseholdClient.release(hurried, lease(), Map.of()).orElse(null);
        } catch (LeaseholdException error) {
            LOG.log(Level.WARNING, "the lease of {0} could not be released and ends at its expiry: {1}", key(), error.getMessage());
        } finally {
            if (wasInterrupted) Thread.currentThread().interrupt();
        }
        lost = unprotected(lost, before);
        if (lost != null) throw copy(lost);
    }

    @Override
    public String toString() {
        return "held " + lease();
    }

    /**
     * Why the work was not protected until its end; null if it was. {@code lost} is from before the release, {@code
     * before} its answer. A lease that expired while it was being released protected the work. A lease that was released
     * with its lock id was released by its holder.
     */
    private synchronized LeaseLostException unprotected(LeaseLostException lost, Ending before) {
        boolean ended = before != null
                && (before.reason() == Ending.Reason.BROKEN || before.reason() == Ending.Reason.UNKNOWN);
        if (lost == null && ended) {
            lose(new GoneException("the lease had ended: " + before, before));
            lost = loss;
        }
        boolean released = lost != null
                && lost.getCause() instanceof GoneException
                && ((GoneException) lost.getCause()).ending().reason() == Ending.Reason.RELEASED;
        return released ? null : lost;
    }

    // How it is kept

    private void schedule() { // by a caller that has locked this
        long now = SteadyClock.now();
        long next = Math.min(actsUntil - now, SteadyClock.LONGEST_NAP);
        if (!renewing) next = Math.min(next, due - now);
        timer = KeeperThreads.TIMER.schedule(this::look, Math.max(next, 0), TimeUnit.NANOSECONDS);
    }

    private synchronized void look() {
        if (closed || told) return;
        Optional<LeaseLostException> why = loss();
        if (why.isPresent()) {
            told = true;
            if (options.isInterrupting()) {
                interrupted = true;
                holder.interrupt();
            }
            if (!work(() -> tell(why.get()))) lost.complete(why.get());
            return;
        }
        if (!renewing && SteadyClock.now() - due >= 0) {
            renewing = work(this::renew); // if not, look() tries again, and the lease is lost in time
        }
        schedule();
    }

    private void tell(LeaseLostException why) {
        lost.complete(why);
        if (options.onLost() != null) options.onLost().accept(why);
    }

    private void renew() {
        try {
            Calls hurried = calls.within(timeLeft(), Duration.ZERO);
            if (hurried.timeout().isNegative() || hurried.timeout().isZero()) return; // look() tells
            confirmed(LeaseholdClient.renew(hurried, lease(), renewal));
        } catch (LeaseholdException error) {
            failed(error);
        } catch (RuntimeException error) { // for example from a function that makes tokens
            failed(new FaultException("the renewal failed: " + error, Effect.UNKNOWN, FaultException.Kind.OTHER, error));
        } finally {
            synchronized (this) {
                renewing = false;
                if (timer != null) timer.cancel(false);
                look();
            }
        }
    }

    private synchronized void confirmed(Lease renewed) {
        if (loss().isPresent()) return; // too late: isLost() may have said so already
        lease = renewed;
        actsUntil = renewed.validUntil() - margin;
        due = SteadyClock.now() + every;
    }

    private synchronized void failed(LeaseholdException error) {
        if (error instanceof GoneException) {
            lose(error);
            return;
        }
        Duration retryAfter = Duration.ZERO;
        if (error instanceof FaultException) {
            trouble = (FaultException) error;
            retryAfter = trouble.retryAfter();
        }
        long now = SteadyClock.now();
        due = now + Math.max(every / 8, Math.min(SteadyClock.nanos(retryAfter), (actsUntil - now) / 4));
    }

    private void lose(LeaseholdException reason) { // by a caller that has locked this
        if (loss == null) {
            loss = new LeaseLostException("the lease of " + lease.key() + " is lost: " + reason.getMessage(), reason);
        }
    }

    /** With the stack of the thread that throws it. */
    private static LeaseLostException copy(LeaseLostException loss) {
        return new LeaseLostException(loss.getMessage(), (LeaseholdException) loss.getCause());
    }

    /** Whether there is a thread for the work. */
    private boolean work(Runnable work) {
        try {
            KeeperThreads.WORKERS.execute(work);
            return true;
        } catch (OutOfMemoryError noThread) {
            due = SteadyClock.now() + every / 8;
            LOG.log(Level.WARNING, "no thread can be started to keep the lease of {0}: {1}", lease.key(), noThread);
            return false;
        }
    }
}
