package leasehold;

/** An answer is not what the server sends. */
final class NotUnderstood extends RuntimeException {
    private static final long serialVersionUID = 1;

    NotUnderstood(String message) {
        super(OneLine.of(message));
    }
}
