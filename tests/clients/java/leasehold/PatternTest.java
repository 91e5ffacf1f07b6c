package leasehold;

import static leasehold.Tests.equal;
import static leasehold.Tests.that;
import static leasehold.Tests.throwsA;

import java.time.Duration;
import leasehold.pattern.AlreadyLockedException;
import leasehold.pattern.LeaseholdLockManager;
import leasehold.pattern.LockId;
import leasehold.pattern.LockManager;
import leasehold.pattern.LockingFailException;
import leasehold.pattern.NoLockException;

/** The pattern's interface. */
final class PatternTest extends ClientTest {
    private LockManager locks;

    PatternTest() throws Exception {}

    @Override
    public void begin(String test) {
        super.begin(test);
        locks = new LeaseholdLockManager(client);
    }

    private LockId locked() {
        return locks.tryLock(key.type(), key.id());
    }

    @Test
    void aLockIsTakenCheckedExtendedAndReleased() {
        LockId lockId = locked();
        locks.checkLock(lockId);
        long before = direct.holders(key).holders().get(0).remaining().orElseThrow().toSeconds();
        that(before > 200 && before <= 300, "it lasts five minutes: " + before);
        locks.extendLockExpiration(lockId, 600_000);
        that(direct.holders(key).holders().get(0).remaining().orElseThrow().toSeconds() > 800, "not extended");
        locks.releaseLock(lockId);
        equal(0, holders().size());
    }

    @Test
    void aLockIsRefusedToEverybodyElse() throws Exception {
        locked();
        throwsA(AlreadyLockedException.class, this::locked);
        LockManager named = new LeaseholdLockManager(client).withOwner(() -> "alice/tab-2");
        AlreadyLockedException refused =
                throwsA(AlreadyLockedException.class, () -> named.tryLock(key.type(), key.id()));
        equal(key, refused.holders().get(0).key());
    }

    @Test
    void theOwnerIsShownAndGetsItsOwnLockBack() {
        LockManager named = new LeaseholdLockManager(client).withOwner(() -> "alice/tab-2").withTtl(Duration.ofMinutes(1));
        LockId first = named.tryLock(key.type(), key.id());
        equal(first, named.tryLock(key.type(), key.id()));
        equal("alice/tab-2", direct.holders(key).holders().get(0).owner());
        that(direct.holders(key).holders().get(0).remaining().orElseThrow().toSeconds() <= 60, "the ttl");
    }

    @Test
    void aLockThatEndedIsNoLock() throws Exception {
        LockId lockId = locked();
        direct.breakLock(key, direct.holders(key).holders().get(0).fence(), "admin", "holiday");
        NoLockException gone = throwsA(NoLockException.class, () -> locks.checkLock(lockId));
        equal("broken by admin (holiday)", gone.ending().toString());
        throwsA(NoLockException.class, () -> locks.extendLockExpiration(lockId, 1000));
        locks.releaseLock(lockId); // does nothing
        throwsA(NoLockException.class, () -> locks.checkLock(new LockId(LeaseholdClient.newLockId())));
    }

    @Test
    void theCheckOfADeadLockDoesNotEndItsSuccessor() throws Exception {
        LockId first = locked();
        locks.releaseLock(first);
        LockId second = locked();
        throwsA(NoLockException.class, () -> locks.checkLock(first));
        locks.releaseLock(first);
        locks.checkLock(second);
    }

    @Test
    void noAnswerSaysWhatItMayHaveDone() throws Exception {
        LockManager hurried = new LeaseholdLockManager(patient(0));
        host.gate("cut_before_answer");
        LockingFailException failed =
                throwsA(LockingFailException.class, () -> hurried.tryLock(key.type(), key.id()));
        equal(Effect.UNKNOWN, ((FaultException) failed.getCause()).effect());
    }

    @Test
    void whatABrowserMadeUpIsNoLock() throws Exception {
        for (String madeUp : new String[] {"", "x", "1; drop table locks", "a\r\nHost: b"}) {
            throwsA(NoLockException.class, () -> locks.checkLock(new LockId(madeUp)));
            throwsA(NoLockException.class, () -> locks.extendLockExpiration(new LockId(madeUp), 1000));
            locks.releaseLock(new LockId(madeUp));
        }
    }

    @Test
    void theSecretIsNotShown() {
        LockId lockId = locked();
        that(!lockId.toString().contains(lockId.getValue()), lockId);
    }
}
