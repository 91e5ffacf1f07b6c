package leasehold;

import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;

/** A call in a thread of its own. */
final class Background<T> {
    private final FutureTask<T> task;
    final Thread thread;

    Background(Callable<T> call) {
        task = new FutureTask<>(call);
        thread = new Thread(task);
        thread.setDaemon(true);
        thread.start();
    }

    T result() throws Exception {
        try {
            return task.get(Tests.PATIENCE_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException failed) {
            if (failed.getCause() instanceof Exception) throw (Exception) failed.getCause();
            throw failed;
        }
    }
}
