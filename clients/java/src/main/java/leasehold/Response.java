package leasehold;

import java.net.http.HttpHeaders;
import java.time.Duration;

/** An answer of HTTP, whatever its status. */
final class Response {
    final int status;
    final byte[] body;
    final long askedAt; // on SteadyClock, from before the request was sent
    private final HttpHeaders headers;

    Response(int status, HttpHeaders headers, byte[] body, long askedAt) {
        this.status = status;
        this.headers = headers;
        this.body = body;
        this.askedAt = askedAt;
    }

    /** As the field Retry-After says; zero if it is missing or a date. */
    Duration retryAfter() {
        String seconds = headers.firstValue("Retry-After").orElse("");
        return seconds.matches("[0-9]{1,9}") ? Duration.ofSeconds(Long.parseLong(seconds)) : Duration.ZERO;
    }
}
