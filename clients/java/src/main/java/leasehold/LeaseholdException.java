package leasehold;

/**
 * An answer that is not what was asked for. All are unchecked:
 *
 * <ul>
 *   <li>{@link RefusedException}: the server said no. {@link HeldByOthersException}, {@link GoneException} and {@link
 *       BusyException} say why.
 *   <li>{@link FaultException}: there is no answer; its {@link FaultException#effect() effect} says what may have
 *       happened. A {@link BadRequestException} is the caller's mistake.
 *   <li>{@link LeaseLostException}: a lease that was kept alive is lost.
 * </ul>
 *
 * <p>The message is one line that is safe to print, whatever a server or another user wrote.
 */
public abstract class LeaseholdException extends RuntimeException {
    private static final long serialVersionUID = 1;

    LeaseholdException(String message, Throwable cause) {
        super(OneLine.of(message), cause);
    }
}
