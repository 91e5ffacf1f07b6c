package leasehold;

import java.util.Objects;
import java.util.Optional;

/**
 * Names a lease to its holder: a {@link Lease}, a {@link Held}, or a key and a lock id, for example from the hidden field
 * of a form.
 */
public interface Leased {
    /** Empty if only the lock id is known. */
    Optional<Key> leasedKey();

    /** The secret of the lease. Everybody who knows it can check, renew and release the lease. */
    String lockId();

    /** The lease of this key that has this lock id. */
    static Leased of(Key key, String lockId) {
        return new LeaseName(Objects.requireNonNull(key, "key"), lockId);
    }

    /** The lease of this key, such as {@code "Order/1"}, that has this lock id. */
    static Leased of(String key, String lockId) {
        return of(Key.parse(key), lockId);
    }

    /** The lease that has this lock id. Give the key too if you know it: the server finds the lease faster. */
    static Leased of(String lockId) {
        return new LeaseName(null, lockId);
    }
}
