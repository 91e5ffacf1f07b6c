package leasehold;

/**
 * A lease that was kept alive is lost. Its {@link #getCause() cause} is the refusal of a renewal ({@link GoneException}:
 * how the lease ended), or the last {@link FaultException} if no renewal was confirmed in time.
 */
public final class LeaseLostException extends LeaseholdException {
    private static final long serialVersionUID = 1;

    LeaseLostException(String message, LeaseholdException cause) {
        super(message, cause);
    }
}
