package leasehold;

import java.time.Instant;
import java.util.List;

/** Who holds a key, and who waits for it. */
public final class Holders {
    private final List<Holder> holders;
    private final List<String> waiting;
    private final Instant storeNow;

    Holders(List<Holder> holders, List<String> waiting, Instant storeNow) {
        this.holders = holders;
        this.waiting = waiting;
        this.storeNow = storeNow;
    }

    /** Empty if nobody holds the key. */
    public List<Holder> holders() {
        return holders;
    }

    /** The owners that wait for the key on this server, the next one first. */
    public List<String> waiting() {
        return waiting;
    }

    /** The store's time of this answer. */
    public Instant storeNow() {
        return storeNow;
    }

    @Override
    public String toString() {
        return holders + (waiting.isEmpty() ? "" : ", waiting " + waiting);
    }
}
