package leasehold;

/** The server said no. The message says why, in words for people. */
public abstract class RefusedException extends LeaseholdException {
    private static final long serialVersionUID = 1;

    RefusedException(String message) {
        super(message, null);
    }
}
