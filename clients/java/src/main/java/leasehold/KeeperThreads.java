package leasehold;

import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** The threads that keep leases alive. They are daemons, and end when there is nothing to do. */
final class KeeperThreads {
    /** Looks at clocks only: what may block is left to the workers. */
    static final ScheduledThreadPoolExecutor TIMER = timer();

    /** Renew, and tell of losses. */
    static final Executor WORKERS = new ThreadPoolExecutor(
            0, Integer.MAX_VALUE, 1, TimeUnit.SECONDS, new SynchronousQueue<>(), work -> daemon(work, "leasehold-worker"));

    private KeeperThreads() {}

    private static ScheduledThreadPoolExecutor timer() {
        ScheduledThreadPoolExecutor timer =
                new ScheduledThreadPoolExecutor(1, work -> daemon(work, "leasehold-timer"));
        timer.setRemoveOnCancelPolicy(true);
        timer.setKeepAliveTime(1, TimeUnit.SECONDS);
        timer.allowCoreThreadTimeOut(true);
        return timer;
    }

    private static Thread daemon(Runnable work, String name) {
        Thread thread = new Thread(work, name);
        thread.setDaemon(true);
        return thread;
    }
}
