package leasehold.pattern;

import leasehold.Ending;
import leasehold.GoneException;

/** The lock has ended: do not save. */
public final class NoLockException extends LockException {
    private static final long serialVersionUID = 1;

    private final Ending ending;

    NoLockException(GoneException cause) {
        super(cause.getMessage(), cause);
        ending = cause.ending();
    }

    NoLockException(String message) {
        super(message, null);
        ending = Ending.unknown();
    }

    /** How it ended: its time was up, somebody else has it now, an administrator broke it. */
    public Ending ending() {
        return ending;
    }
}
