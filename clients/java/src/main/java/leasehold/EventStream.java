package leasehold;

import java.io.IOException;
import java.time.Duration;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Events as they happen: {@code try (EventStream events = client.events(Filter.all())) { for (Event event : events) … }}
 *
 * <p>After a lost connection it continues behind the last event. If the server does not come back within the client's
 * patience, the loop throws the fault; the events may be asked for again all the same, also by another stream that is given
 * {@link #lastId()}. One thread reads; {@link #close()}, which may be called by another one, ends the loop.
 */
public final class EventStream implements Iterable<Event>, AutoCloseable {
    // The server sends a comment every 15 seconds, if nobody changed that. After this silence it is taken for dead.
    private static final Duration LONGEST_SILENCE = Duration.ofMinutes(1);
    private static final Duration SHORTEST_PAUSE = Duration.ofMillis(200); // before it is connected again

    private final Calls calls;
    private final Request request;
    private final CountDownLatch closed = new CountDownLatch(1);
    private volatile String lastId;
    private volatile Body body; // null: not connected
    private EventParser parser; // used by the thread that reads, and so is the next
    private Event waiting; // that hasNext() found

    EventStream(Calls calls, Filter filter, String lastId) {
        if (filter.parameters().containsKey("contains") || filter.parameters().containsKey("limit")) {
            throw new BadRequestException("events are chosen by type, key and owner only");
        }
        this.calls = calls;
        this.request = Request.reading(Wire.withQuery("/v1/events", filter.parameters()));
        this.lastId = lastId;
        untilDone(() -> {
            connect();
            return true;
        });
    }

    /** The id of the last event that was read, or of the place behind it. */
    public String lastId() {
        return lastId;
    }

    /** All calls return the same events, each once. {@code hasNext()} waits for one. */
    @Override
    public Iterator<Event> iterator() {
        return new Iterator<>() {
            @Override
            public boolean hasNext() {
                if (waiting == null && !isClosed()) waiting = untilDone(EventStream.this::read);
                return waiting != null;
            }

            @Override
            public Event next() {
                if (!hasNext()) throw new NoSuchElementException();
                Event event = waiting;
                waiting = null;
                lastId = event.id();
                return event;
            }
        };
    }

    @Override
    public void close() {
        closed.countDown();
        disconnect();
    }

    private interface Work<T> {
        T run() throws IOException, InterruptedException;
    }

    /** Null if the stream was closed. */
    private <T> T untilDone(Work<T> work) {
        Retry retry = null;
        try {
            while (!isClosed()) {
                FaultException fault;
                try {
                    return work.run();
                } catch (FaultException failed) {
                    fault = failed;
                } catch (IOException | NotUnderstood error) {
                    String why = "the stream of events has ended: " + error.getMessage();
                    fault = new FaultException(why, Effect.NONE, FaultException.Kind.UNAVAILABLE, error);
                }
                disconnect();
                if (isClosed()) return null;
                if (retry == null) retry = new Retry(SteadyClock.after(calls.patience()));
                long pause = Retry.NO_MORE;
                if (fault.mayPass()) {
                    boolean shortest = fault.retryAfter().compareTo(SHORTEST_PAUSE) < 0;
                    pause = retry.next(shortest ? SHORTEST_PAUSE : fault.retryAfter());
                }
                if (pause == Retry.NO_MORE) throw fault;
                closed.await(pause, TimeUnit.NANOSECONDS);
            }
            return null;
        } catch (InterruptedException interrupt) {
            disconnect();
            Thread.currentThread().interrupt();
            throw new FaultException(
                    "the thread was interrupted", Effect.NONE, FaultException.Kind.INTERRUPTED, interrupt);
        }
    }

    private Event read() throws IOException, InterruptedException {
        while (true) {
            connect();
            Event event = parser.next();
            if (event != null) return event;
            lastId = parser.position();
            take(body, SteadyClock.after(LONGEST_SILENCE));
        }
    }

    private void take(Body from, long deadline) throws IOException, InterruptedException {
        byte[] piece = from == null ? null : from.next(deadline);
        if (piece == null) throw new IOException("the server closed it");
        parser.take(piece);
    }

    /** When it returns, the stream has a position: nothing that happens from then on is missed, whatever breaks. */
    private void connect() throws IOException, InterruptedException {
        if (body != null) return;
        Map<String, String> headers = new LinkedHashMap<>(Map.of("Accept", "text/event-stream"));
        if (!lastId.isEmpty()) headers.put("Last-Event-ID", lastId);
        parser = new EventParser(lastId); // forgets the half of an event
        long deadline = SteadyClock.after(calls.timeout());
        Transport.Begun begun = calls.transport().begin(request, calls.timeout(), headers);
        int status = begun.answer.statusCode();
        if (status != 200) {
            byte[] text = calls.transport().bodyOf(begun, request, deadline);
            throw Wire.problemIn(new Response(status, begun.answer.headers(), text, begun.askedAt), Effect.NONE);
        }
        String type = begun.answer.headers().firstValue("Content-Type").orElse("");
        if (!type.split(";", 2)[0].trim().equalsIgnoreCase("text/event-stream")) {
            begun.answer.body().cancel();
            throw Wire.notUnderstood("GET", "it is not a stream of events", Effect.NONE, status);
        }
        body = begun.answer.body();
        if (isClosed()) disconnect();
        while (parser.position() == null) take(body, deadline);
    }

    private void disconnect() {
        Body ended = body;
        body = null;
        if (ended != null) ended.cancel();
    }

    private boolean isClosed() {
        return closed.getCount() == 0;
    }
}
