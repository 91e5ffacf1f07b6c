package leasehold;

import java.time.Instant;

/** Somebody asked the holder for the key. */
public final class Knock {
    private final String by;
    private final String message;
    private final Instant at;

    Knock(String by, String message, Instant at) {
        this.by = by;
        this.message = message;
        this.at = at;
    }

    public String by() {
        return by;
    }

    public String message() {
        return message;
    }

    public Instant at() {
        return at;
    }

    @Override
    public String toString() {
        return by + ": " + message;
    }
}
