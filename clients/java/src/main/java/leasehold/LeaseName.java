package leasehold;

import java.util.Objects;
import java.util.Optional;

/** A lease of which nothing is known but its lock id, and perhaps its key. */
final class LeaseName implements Leased {
    private final Key key;
    private final String lockId;

    LeaseName(Key key, String lockId) {
        this.key = key;
        this.lockId = Objects.requireNonNull(lockId, "lockId");
    }

    @Override
    public Optional<Key> leasedKey() {
        return Optional.ofNullable(key);
    }

    @Override
    public String lockId() {
        return lockId;
    }

    @Override
    public String toString() {
        return "a lease" + (key == null ? "" : " of " + key);
    }
}
