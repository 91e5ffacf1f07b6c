package leasehold;

import java.time.Duration;

/** The request is wrong. The message says what would be right. Nothing was done. */
public final class BadRequestException extends FaultException {
    private static final long serialVersionUID = 1;

    private final Duration longestWait; // null: that is not what is wrong

    BadRequestException(String message) {
        this(message, null);
    }

    BadRequestException(String message, Throwable cause) {
        super(message, Effect.NONE, Kind.CONFIGURATION, 0, "bad_request", Duration.ZERO, cause);
        longestWait = null;
    }

    /** What the server said. */
    BadRequestException(String message, int status, Duration longestWait) {
        super(message, Effect.NONE, Kind.CONFIGURATION, status, "bad_request", Duration.ZERO, null);
        this.longestWait = longestWait;
    }

    Duration longestWait() {
        return longestWait;
    }
}
