package leasehold;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * How requests are repeated. Attempts that failed are repeated for {@code patience}, if a later one may succeed and if
 * repeating is harmless. {@code timeout} is for one attempt. Thread-safe.
 */
final class Calls {
    private static final Duration HURRY = Duration.ofSeconds(1);

    private final Transport transport;
    private final Duration timeout;
    private final Duration patience;
    // Of the server, which corrects us. Before Java 16, a request that is given up stays in the server's line until its end:
    // then shorter waits follow each other, for which the server keeps our place.
    private volatile long longestWait = Duration.ofSeconds(Runtime.version().feature() < 16 ? 5 : 60).toNanos();

    Calls(Transport transport, Duration timeout, Duration patience) {
        this.transport = transport;
        this.timeout = timeout;
        this.patience = patience;
    }

    Transport transport() {
        return transport;
    }

    Duration timeout() {
        return timeout;
    }

    Duration patience() {
        return patience;
    }

    /** The same calls with less time. */
    Calls within(Duration longestTimeout, Duration longestPatience) {
        return new Calls(transport, shorter(timeout, longestTimeout), shorter(patience, longestPatience));
    }

    <T> T ask(Request request, Wire.Reader<T> reader) {
        Retry retry = new Retry(SteadyClock.after(patience));
        Effect effect = Effect.NONE; // of all attempts so far
        while (true) {
            LeaseholdException failure;
            long pause = Retry.NO_MORE;
            try {
                return Wire.read(transport.exchange(request, timeout), request, reader);
            } catch (BusyException busy) {
                failure = busy;
                pause = retry.next(Duration.ZERO);
            } catch (FaultException fault) {
                failure = fault;
                if (fault.effect() == Effect.UNKNOWN) effect = Effect.UNKNOWN;
                boolean harmless = request.repeatable || fault.effect() == Effect.NONE;
                if (fault.mayPass() && harmless) pause = retry.next(fault.retryAfter());
            }
            if (pause == Retry.NO_MORE) throw settled(failure, effect);
            sleep(pause, effect);
        }
    }

    /**
     * Takes a key.
     *
     * <ol>
     *   <li>Sends the try with a lock id that we drew, so that sending it again is harmless.
     *   <li>After a fault that may pass, sends it again with the same lock id, which keeps our place in the line.
     *   <li>If the lease of an attempt whose answer was lost has ended, draws a new lock id.
     *   <li>If it gives up or is interrupted while the key may be ours, releases it: nobody else knows the lock id.
     * </ol>
     */
    Lease take(Key key, Terms terms, Duration wait) {
        Wire.keyPath(key); // may be a bad request
        boolean drawn = terms.lockId() == null;
        String lockId = drawn ? LeaseholdClient.newLockId() : terms.lockId();
        long begin = SteadyClock.now();
        long waitUntil = begin + SteadyClock.nanos(wait);
        Retry retry = new Retry(begin + Math.max(SteadyClock.nanos(wait), SteadyClock.nanos(patience)));
        Effect unsettled = Effect.NONE; // of the attempts with this lock id
        boolean ended = false;
        try {
            while (true) {
                Effect before = unsettled;
                unsettled = Effect.UNKNOWN;
                long askedAt = SteadyClock.now();
                LeaseholdException failure;
                long pause = Retry.NO_MORE;
                try {
                    Lease lease = tryOnce(key, terms, lockId, waitUntil);
                    ended = true;
                    return lease;
                } catch (HeldByOthersException held) {
                    failure = held;
                    unsettled = Effect.NONE;
                    long now = SteadyClock.now();
                    if (waitUntil - now > 0) pause = retry.next(Duration.ZERO);
                    // The server keeps our place, but grants nothing while no request waits.
                    if (pause != Retry.NO_MORE && now - askedAt >= longestWait) pause = 0;
                } catch (GoneException gone) {
                    failure = gone;
                    unsettled = Effect.NONE;
                    if (drawn && !terms.fields().containsKey("since")) pause = retry.next(Duration.ZERO);
                    if (drawn) lockId = LeaseholdClient.newLockId();
                } catch (BusyException busy) {
                    failure = busy;
                    unsettled = before;
                    pause = retry.next(Duration.ZERO);
                } catch (FaultException fault) {
                    failure = fault;
                    unsettled = fault.effect() == Effect.UNKNOWN ? Effect.UNKNOWN : before;
                    if (fault.mayPass()) pause = retry.next(fault.retryAfter());
                }
                if (pause == Retry.NO_MORE) throw settled(failure, unsettled);
                sleep(pause, unsettled);
            }
        } finally {
            if (!ended && drawn && unsettled == Effect.UNKNOWN) giveBack(key, lockId);
        }
    }

    private Lease tryOnce(Key key, Terms terms, String lockId, long waitUntil) {
        while (true) {
            long wait = Math.min(Math.max(waitUntil - SteadyClock.now(), 0), longestWait);
            Map<String, Object> body = new LinkedHashMap<>(terms.fields());
            if (wait > 0) body.put("wait_ms", TimeUnit.NANOSECONDS.toMillis(wait));
            Request request =
                    Request.changing("POST", Wire.keyPath(key), body).about(lockId).thatMayBeRepeated();
            Response response = transport.exchange(request, timeout.plusNanos(wait));
            Lease lease;
            try {
                lease = Wire.read(response, request, (answer, askedAt) -> Wire.lease(answer, askedAt, key, null));
            } catch (BadRequestException wrong) {
                if (wrong.longestWait() == null || wrong.longestWait().toNanos() >= wait) throw wrong;
                longestWait = wrong.longestWait().toNanos();
                continue;
            }
            long waited = SteadyClock.now() - response.askedAt;
            boolean endless = lease.validUntil() == Long.MAX_VALUE;
            if (wait == 0 || endless || waited < (lease.validUntil() - response.askedAt) / 10) return lease;
            // The lease began while this try waited: count its time from a request that does not wait.
            try {
                return about(Request.reading(Wire.keyPath(key)), key, lease.lockId());
            } catch (FaultException fault) {
                throw fault.withUnknownEffect(); // the check changed nothing, but the try was granted
            }
        }
    }

    /** Sends a request about one lease, and returns the lease. */
    Lease about(Request request, Key key, String lockId) {
        return ask(request.about(lockId), (answer, askedAt) -> Wire.lease(answer, askedAt, key, lockId));
    }

    private void giveBack(Key key, String lockId) {
        boolean interrupted = Thread.interrupted(); // which would end the release at once
        try {
            // More than one attempt: a kept connection may be dead.
            Request release = Request.changing("DELETE", Wire.keyPath(key), null).thatMayBeRepeated();
            within(HURRY, HURRY).ask(release.about(lockId), (answer, askedAt) -> answer);
        } catch (LeaseholdException error) {
            // the lease ends at its expiry
        } finally {
            if (interrupted) Thread.currentThread().interrupt();
        }
    }

    private static void sleep(long nanos, Effect effect) {
        try {
            TimeUnit.NANOSECONDS.sleep(nanos);
        } catch (InterruptedException interrupt) {
            Thread.currentThread().interrupt();
            throw new FaultException(
                    "the thread was interrupted", effect, FaultException.Kind.INTERRUPTED, interrupt);
        }
    }

    /** The failure of the last attempt. Its effect is unknown if the effect of any attempt was. */
    private static LeaseholdException settled(LeaseholdException failure, Effect effect) {
        if (effect == Effect.NONE) return failure;
        if (failure instanceof BusyException) {
            return new FaultException(
                    failure.getMessage(), Effect.UNKNOWN, FaultException.Kind.UNAVAILABLE, 409, "busy", Duration.ZERO, failure);
        }
        return failure instanceof FaultException ? ((FaultException) failure).withUnknownEffect() : failure;
    }

    private static Duration shorter(Duration one, Duration other) {
        return one.compareTo(other) < 0 ? one : other;
    }
}
