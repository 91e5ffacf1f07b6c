/**
 * The client of the Leasehold server: locks that outlive a request, a transaction and a process.
 *
 * <pre>{@code
 * LeaseholdClient client = LeaseholdClient.connect("http://127.0.0.1:7470");
 * try (Held held = client.hold("Order/1", Terms.of("alice"))) {
 *     save(order, held.fence());
 * }
 * }</pre>
 *
 * <p>Begin with {@link leasehold.LeaseholdClient}. Answers are values that never change; a "no" is a {@link
 * leasehold.RefusedException}, because Java code that does not have the lock has nothing to go on with, and no answer is a
 * {@link leasehold.FaultException}. Within a {@link leasehold.Batch}, both are kept for {@link
 * leasehold.Batch.Answer#get()}. All exceptions are unchecked.
 *
 * <p>{@link leasehold.pattern} has the interface {@code LockManager} of the pattern Offline Pessimistic Lock.
 */
package leasehold;
