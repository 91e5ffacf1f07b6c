package leasehold;

/** Whether others may hold the key at the same time. */
public enum Mode {
    EXCLUSIVE,
    SHARED;

    String word() {
        return Words.of(this);
    }
}
