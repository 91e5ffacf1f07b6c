package leasehold;

import java.time.Duration;

/** There is no answer, or none that settles the question. */
public class FaultException extends LeaseholdException {
    private static final long serialVersionUID = 1;

    /** What the fault comes from. */
    public enum Kind {
        /** The server or its store cannot be reached, or does not answer in time. */
        UNAVAILABLE,
        /** The store's clock leapt ahead, so that leases only look expired. */
        CLOCK_LEAP,
        /** The request, or how the server or the client is set up, is wrong. */
        CONFIGURATION,
        /** The token is missing or unknown, or may not do this. */
        NOT_ALLOWED,
        /** An answer was not understood, or the server has a defect. */
        INTERNAL,
        /** The lock id names a lease of another key: draw a new one for each key. */
        LOCK_ID_IN_USE,
        /** The request is too large to be carried out at once. */
        TOO_LARGE,
        /** The thread was interrupted. Its interrupt status is set again. */
        INTERRUPTED,
        /** What this version of the client has no word for. */
        OTHER
    }

    private final Effect effect;
    private final Kind kind;
    private final int status;
    private final String code;
    private final Duration retryAfter;

    FaultException(String message, Effect effect, Kind kind, Throwable cause) {
        this(message, effect, kind, 0, "", Duration.ZERO, cause);
    }

    FaultException(
            String message, Effect effect, Kind kind, int status, String code, Duration retryAfter, Throwable cause) {
        super(message, cause);
        this.effect = effect;
        this.kind = kind;
        this.status = status;
        this.code = code;
        this.retryAfter = retryAfter;
    }

    /** Whether nothing was done, or the request may have been carried out. */
    public final Effect effect() {
        return effect;
    }

    public final Kind kind() {
        return kind;
    }

    /** Whether the same request may succeed later. */
    public final boolean mayPass() {
        return kind == Kind.UNAVAILABLE || kind == Kind.CLOCK_LEAP || kind == Kind.INTERNAL;
    }

    /** The status of HTTP; 0 if there was no answer. */
    public final int status() {
        return status;
    }

    /** The code of the server's answer, such as {@code overloaded}; empty if there was none. */
    public final String code() {
        return code;
    }

    /** For how long the server asks not to be asked again; zero if it does not say. */
    public final Duration retryAfter() {
        return retryAfter;
    }

    /** The same fault after an earlier attempt whose effect is unknown. */
    FaultException withUnknownEffect() {
        if (effect == Effect.UNKNOWN) return this;
        FaultException unknown =
                new FaultException(getMessage(), Effect.UNKNOWN, kind, status, code, retryAfter, getCause());
        unknown.setStackTrace(getStackTrace());
        return unknown;
    }
}
