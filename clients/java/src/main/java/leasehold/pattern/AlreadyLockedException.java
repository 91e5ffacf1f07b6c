package leasehold.pattern;

import java.util.List;
import leasehold.HeldByOthersException;
import leasehold.Holder;

/** Somebody has locked it. */
public final class AlreadyLockedException extends LockException {
    private static final long serialVersionUID = 1;

    AlreadyLockedException(HeldByOthersException cause) {
        super(cause.getMessage(), cause);
    }

    /** Who, since when, and until when. */
    public List<Holder> holders() {
        return ((HeldByOthersException) getCause()).holders();
    }
}
