package leasehold;

/** An open transaction is using the lease: ask again in a moment. */
public final class BusyException extends RefusedException {
    private static final long serialVersionUID = 1;

    BusyException(String message) {
        super(message);
    }
}
