package leasehold;

import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.security.cert.CertPathValidatorException;
import java.security.cert.CertificateException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import javax.net.ssl.SSLHandshakeException;

/** Sends each request once, and returns the answer or throws a fault that states its effect. Thread-safe. */
final class Transport {
    private final String url; // of the server, without a slash at its end
    private final HttpClient http;
    private final Supplier<String> token; // asked before every request, so that it can change

    Transport(String url, HttpClient http, Supplier<String> token) {
        this.url = url;
        this.http = http;
        this.token = token;
    }

    /** An answer whose body is not read yet. */
    static final class Begun {
        final HttpResponse<Body> answer;
        final long askedAt; // on SteadyClock

        Begun(HttpResponse<Body> answer, long askedAt) {
            this.answer = answer;
            this.askedAt = askedAt;
        }
    }

    /** Throws a FaultException, whose effect is NONE if the request was not sent. */
    Response exchange(Request request, Duration timeout) {
        long deadline = SteadyClock.after(timeout);
        Begun begun = begin(request, timeout, Map.of());
        return new Response(
                begun.answer.statusCode(), begun.answer.headers(), bodyOf(begun, request, deadline), begun.askedAt);
    }

    byte[] bodyOf(Begun begun, Request request, long deadline) {
        Body body = begun.answer.body();
        try {
            return body.all(deadline);
        } catch (InterruptedException interrupt) {
            body.cancel();
            throw interrupted(request);
        } catch (IOException error) {
            body.cancel();
            throw lost(request, error);
        }
    }

    /** Sends the request and returns the answer before its body is read. */
    Begun begin(Request request, Duration timeout, Map<String, String> headers) {
        HttpRequest sent = encoded(request, timeout, headers);
        if (Thread.currentThread().isInterrupted()) {
            throw new FaultException(
                    "the thread was interrupted", Effect.NONE, FaultException.Kind.INTERRUPTED, null);
        }
        long askedAt = SteadyClock.now();
        CompletableFuture<HttpResponse<Body>> answer = http.sendAsync(sent, info -> new Body());
        try {
            return new Begun(answer.get(SteadyClock.nanos(timeout), TimeUnit.NANOSECONDS), askedAt);
        } catch (TimeoutException late) {
            giveUp(answer);
            throw lost(request, new HttpTimeoutException("timed out"));
        } catch (InterruptedException interrupt) {
            giveUp(answer);
            throw interrupted(request);
        } catch (ExecutionException failed) {
            throw lost(request, failed.getCause());
        }
    }

    private HttpRequest encoded(Request request, Duration timeout, Map<String, String> headers) {
        HttpRequest.BodyPublisher body = HttpRequest.BodyPublishers.noBody();
        HttpRequest.Builder out = HttpRequest.newBuilder(URI.create(url + request.path))
                .version(HttpClient.Version.HTTP_1_1)
                .timeout(timeout)
                .header("Accept", headers.getOrDefault("Accept", "application/json"));
        if (headers.containsKey("Last-Event-ID")) out.header("Last-Event-ID", headers.get("Last-Event-ID"));
        if (request.body != null) {
            body = HttpRequest.BodyPublishers.ofByteArray(Json.print(request.body));
            out.header("Content-Type", "application/json");
        }
        if (!request.lockId.isEmpty()) out.header("Lock-Token", request.lockId);
        String shown = token.get();
        if (shown != null && !shown.isEmpty()) {
            out.header("Authorization", "Bearer " + Wire.visible(shown, "a token has visible ASCII characters only"));
        }
        return (request.method.equals("GET") ? out.GET() : out.method(request.method, body)).build();
    }

    private static void giveUp(CompletableFuture<HttpResponse<Body>> answer) {
        answer.thenAccept(late -> late.body().cancel());
        answer.cancel(true);
    }

    private FaultException interrupted(Request request) {
        Thread.currentThread().interrupt();
        return new FaultException(
                "the thread was interrupted", request.effectOnceSent, FaultException.Kind.INTERRUPTED, null);
    }

    private FaultException lost(Request request, Throwable error) {
        String why = error.getMessage();
        if (why == null) why = error instanceof ConnectException ? "no connection" : error.getClass().getSimpleName();
        if (error instanceof SSLHandshakeException && isAboutACertificate(error)) {
            String text = "the certificate of the Leasehold server at " + url + " is not accepted: " + why;
            return new FaultException(text, Effect.NONE, FaultException.Kind.CONFIGURATION, error);
        }
        boolean unsent = error instanceof ConnectException
                || error instanceof HttpConnectTimeoutException
                || error instanceof SSLHandshakeException;
        String text = "the Leasehold server at " + url + " cannot be reached: " + why;
        if (!unsent) text = "the connection to the Leasehold server at " + url + " was lost: " + why;
        Effect effect = unsent ? Effect.NONE : request.effectOnceSent;
        return new FaultException(text, effect, FaultException.Kind.UNAVAILABLE, error);
    }

    private static boolean isAboutACertificate(Throwable error) {
        for (Throwable one = error; one != null; one = one.getCause()) {
            if (one instanceof CertificateException || one instanceof CertPathValidatorException) return true;
        }
        return false;
    }
}
