/**
 * The pattern Offline Pessimistic Lock as its readers know it: {@link leasehold.pattern.LockManager} with its exceptions.
 * {@link leasehold.pattern.LeaseholdLockManager} asks a Leasehold server instead of a table of its own.
 */
package leasehold.pattern;
