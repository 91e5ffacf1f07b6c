package leasehold.pattern;

/** Locks that last longer than a transaction: from the form that is opened to the form that is saved. */
public interface LockManager {
    /**
     * Locks the thing of this type with this id.
     *
     * @throws AlreadyLockedException if somebody has locked it
     * @throws LockingFailException if there is no answer
     */
    LockId tryLock(String type, String id) throws LockException;

    /**
     * Makes sure that the lock is still held. Changes nothing.
     *
     * @throws NoLockException if the lock has ended
     * @throws LockingFailException if there is no answer
     */
    void checkLock(LockId lockId) throws LockException;

    /**
     * Ends the lock. Does nothing if it has ended before.
     *
     * @throws LockingFailException if there is no answer
     */
    void releaseLock(LockId lockId) throws LockException;

    /**
     * Lets the lock last longer by this number of milliseconds.
     *
     * @throws NoLockException if the lock has ended
     * @throws LockingFailException if there is no answer
     */
    void extendLockExpiration(LockId lockId, long inc) throws LockException;
}
