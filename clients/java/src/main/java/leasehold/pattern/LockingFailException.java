package leasehold.pattern;

import leasehold.LeaseholdException;

/**
 * There is no answer. Its cause is a {@link leasehold.FaultException}, which says what may have been done, or a {@link
 * leasehold.BusyException}: an open transaction is using the lock.
 */
public final class LockingFailException extends LockException {
    private static final long serialVersionUID = 1;

    LockingFailException(LeaseholdException cause) {
        super(cause.getMessage(), cause);
    }
}
