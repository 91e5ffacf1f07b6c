package leasehold.pattern;

import java.time.Duration;
import java.util.Objects;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import leasehold.GoneException;
import leasehold.HeldByOthersException;
import leasehold.Key;
import leasehold.Leased;
import leasehold.LeaseholdClient;
import leasehold.LeaseholdException;
import leasehold.Terms;

/**
 * A {@link LockManager} that asks a Leasehold server. Thread-safe.
 *
 * <p>It takes no part in the application's transaction: call {@code releaseLock} after the transaction has committed, or
 * somebody else may load the thing before the change can be seen.
 */
public final class LeaseholdLockManager implements LockManager {
    private static final Pattern UUID_TEXT = Pattern.compile("\\p{XDigit}{8}(-\\p{XDigit}{4}){3}-\\p{XDigit}{12}");

    private final LeaseholdClient client;
    private final Supplier<String> owner;
    private final Duration ttl;

    /** Locks without an owner, for five minutes. */
    public LeaseholdLockManager(LeaseholdClient client) {
        this(client, () -> "", Duration.ofMinutes(5));
    }

    private LeaseholdLockManager(LeaseholdClient client, Supplier<String> owner, Duration ttl) {
        this.client = Objects.requireNonNull(client, "client");
        this.owner = Objects.requireNonNull(owner, "owner");
        this.ttl = Objects.requireNonNull(ttl, "ttl");
    }

    /**
     * Asked at each try for the owner, whose name others see. An owner that tries again gets its own lock back, so name the
     * session or the tab too: {@code alice/session-7/tab-2}.
     */
    public LeaseholdLockManager withOwner(Supplier<String> owner) {
        return new LeaseholdLockManager(client, owner, ttl);
    }

    /** How long a lock lasts unless it is extended. */
    public LeaseholdLockManager withTtl(Duration ttl) {
        return new LeaseholdLockManager(client, owner, ttl);
    }

    @Override
    public LockId tryLock(String type, String id) {
        return answered(() -> {
            Terms terms = Terms.of(owner.get()).ttl(ttl);
            return new LockId(client.tryLock(Key.of(type, id), terms).lockId());
        });
    }

    @Override
    public void checkLock(LockId lockId) {
        Leased lock = named(lockId);
        answered(() -> client.check(lock));
    }

    @Override
    public void releaseLock(LockId lockId) {
        if (!isLockId(lockId)) return; // as a lock that has ended
        answered(() -> client.release(named(lockId)));
    }

    @Override
    public void extendLockExpiration(LockId lockId, long inc) {
        Leased lock = named(lockId);
        answered(() -> client.extend(lock, Duration.ofMillis(inc)));
    }

    /** A field of a form holds what the browser sends. What is no UUID names no lock. */
    private static boolean isLockId(LockId lockId) {
        return UUID_TEXT.matcher(lockId.getValue()).matches();
    }

    private static Leased named(LockId lockId) {
        if (!isLockId(lockId)) throw new NoLockException("no such lock is known");
        return Leased.of(lockId.getValue());
    }

    private static <T> T answered(Supplier<T> call) {
        try {
            return call.get();
        } catch (HeldByOthersException held) {
            throw new AlreadyLockedException(held);
        } catch (GoneException gone) {
            throw new NoLockException(gone);
        } catch (LeaseholdException failed) {
            throw new LockingFailException(failed);
        }
    }
}
