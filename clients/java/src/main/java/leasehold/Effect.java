package leasehold;

/** What a request that got no answer has done. */
public enum Effect {
    /** Nothing was done. */
    NONE,
    /** The request may have been carried out. To repeat it with the same lock id is safe, and its answer is the truth. */
    UNKNOWN
}
