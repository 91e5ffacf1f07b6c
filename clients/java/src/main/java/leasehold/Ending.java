package leasehold;

import java.io.Serializable;

/** How a lease ended. */
public final class Ending implements Serializable {
    private static final long serialVersionUID = 1;

    /** Why a lease is not alive. */
    public enum Reason {
        /** Its time was up. */
        EXPIRED,
        /** It was released. */
        RELEASED,
        /** Its time was up, and then somebody else was granted the key. */
        TAKEN,
        /** An administrator ended it. */
        BROKEN,
        /** The server knows no such lease. */
        UNKNOWN
    }

    private final Reason reason;
    private final String by;
    private final String why;

    Ending(Reason reason, String by, String why) {
        this.reason = reason;
        this.by = by;
        this.why = why;
    }

    /** Of a lease that nobody knows. */
    public static Ending unknown() {
        return new Ending(Reason.UNKNOWN, "", "");
    }

    public Reason reason() {
        return reason;
    }

    /** Who ended it or has the key now; empty if that is not known. */
    public String by() {
        return by;
    }

    /** The reason that an administrator gave; otherwise empty. */
    public String why() {
        return why;
    }

    @Override
    public String toString() {
        return Words.of(reason) + (by.isEmpty() ? "" : " by " + by) + (why.isEmpty() ? "" : " (" + why + ")");
    }
}
