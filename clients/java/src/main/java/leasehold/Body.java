package leasehold;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * The body of an answer, read piece by piece with a deadline. A body that is given up closes its connection, also in
 * Java 11. One thread reads; any thread may cancel.
 */
final class Body implements HttpResponse.BodySubscriber<Body> {
    private static final Object END = new Object();

    private final BlockingQueue<Object> pieces = new LinkedBlockingQueue<>(); // lists of buffers, END or an error
    private Flow.Subscription subscription; // guarded by this, and so is the following
    private boolean cancelled;

    @Override
    public CompletionStage<Body> getBody() {
        return CompletableFuture.completedFuture(this);
    }

    @Override
    public synchronized void onSubscribe(Flow.Subscription given) {
        subscription = given;
        if (cancelled) {
            given.cancel();
        } else {
            given.request(1);
        }
    }

    @Override
    public void onNext(List<ByteBuffer> buffers) {
        pieces.add(buffers);
    }

    @Override
    public void onError(Throwable error) {
        pieces.add(error);
    }

    @Override
    public void onComplete() {
        pieces.add(END);
    }

    /** Ends the connection, and a read that is under way. */
    void cancel() {
        Flow.Subscription ended;
        synchronized (this) {
            cancelled = true;
            ended = subscription;
        }
        if (ended != null) ended.cancel();
        pieces.add(new EOFException("it was closed"));
    }

    /** The next piece; null at the end. Waits for it until this time of SteadyClock. */
    byte[] next(long deadline) throws IOException, InterruptedException {
        Object piece;
        do { // a timer does not count the time while the machine sleeps
            long left = deadline - SteadyClock.now();
            if (left <= 0) throw new HttpTimeoutException("timed out");
            piece = pieces.poll(Math.min(left, SteadyClock.LONGEST_NAP), TimeUnit.NANOSECONDS);
        } while (piece == null);
        if (piece instanceof Throwable) throw new IOException(((Throwable) piece).getMessage(), (Throwable) piece);
        if (piece == END) return null;
        synchronized (this) {
            if (subscription != null) subscription.request(1);
        }
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        for (Object one : (List<?>) piece) {
            ByteBuffer buffer = (ByteBuffer) one;
            byte[] part = new byte[buffer.remaining()];
            buffer.get(part);
            bytes.write(part);
        }
        return bytes.toByteArray();
    }

    byte[] all(long deadline) throws IOException, InterruptedException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        for (byte[] piece = next(deadline); piece != null; piece = next(deadline)) {
            bytes.write(piece);
            if (bytes.size() > Wire.LONGEST_ANSWER) {
                throw new IOException("the answer is longer than " + Wire.LONGEST_ANSWER + " bytes");
            }
        }
        return bytes.toByteArray();
    }
}
