package leasehold;

import java.util.Map;

/** A request before it is sent. */
final class Request {
    final String method;
    final String path;
    final Map<String, Object> body; // null: none
    final String lockId; // empty: none
    /** Whether it may be sent again although the first one may have been carried out: the second changes nothing. */
    final boolean repeatable;
    /** What it has done if it was sent and the answer is missing. */
    final Effect effectOnceSent;

    private Request(
            String method, String path, Map<String, Object> body, String lockId, boolean repeatable, boolean changes) {
        this.method = method;
        this.path = path;
        this.body = body;
        this.lockId = lockId;
        this.repeatable = repeatable;
        this.effectOnceSent = changes ? Effect.UNKNOWN : Effect.NONE;
    }

    static Request reading(String path) {
        return new Request("GET", path, null, "", true, false);
    }

    static Request reading(String path, Map<String, Object> body) {
        return new Request("POST", path, body, "", true, false);
    }

    static Request changing(String method, String path, Map<String, Object> body) {
        return new Request(method, path, body, "", false, true);
    }

    /** About the lease with this lock id. */
    Request about(String lease) {
        Wire.visible(lease, "a lock id is a UUID");
        return new Request(method, path, body, lease, repeatable, effectOnceSent == Effect.UNKNOWN);
    }

    Request thatMayBeRepeated() {
        return new Request(method, path, body, lockId, true, effectOnceSent == Effect.UNKNOWN);
    }
}
