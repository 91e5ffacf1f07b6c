package leasehold;

/** Whose leases are meant by the name of an owner. */
public enum OwnerScope {
    /** Those of this owner only. */
    EXACT,
    /** Also those of the owners below it: {@code alice} includes {@code alice/tab-2}, and not {@code alicea}. */
    BELOW
}
