package leasehold;

/** The lease is not alive any more. Nothing revives it: take the key again. */
public final class GoneException extends RefusedException {
    private static final long serialVersionUID = 1;

    private final Ending ending;

    GoneException(String message, Ending ending) {
        super(message);
        this.ending = ending;
    }

    /** How the lease ended. */
    public Ending ending() {
        return ending;
    }
}
