package leasehold.pattern;

import java.util.Objects;

/** The secret of a lock, which a form carries in a hidden field. */
public final class LockId {
    private final String value;

    public LockId(String value) {
        this.value = Objects.requireNonNull(value, "value");
    }

    public String getValue() {
        return value;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof LockId && value.equals(((LockId) other).value);
    }

    @Override
    public int hashCode() {
        return value.hashCode();
    }

    /** Without the secret. */
    @Override
    public String toString() {
        return "a lock id";
    }
}
