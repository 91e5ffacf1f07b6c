package leasehold;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;

/**
 * Runs tests and reports them as TAP: {@code java leasehold.Tests CLASS [METHOD]}. Also what tests say: {@link #equal},
 * {@link #throwsA}, {@link #eventually}.
 */
final class Tests {
    /** Longer than anything takes on a slow machine. */
    static final long PATIENCE_SECONDS = 60;

    /** What a class of tests can do around its tests. */
    interface Suite extends AutoCloseable {
        /** Tests that are not methods; they are run too. */
        default List<Case> cases() throws Exception {
            return List.of();
        }

        default void begin(String test) throws Exception {}

        default void end() throws Exception {}

        @Override
        default void close() throws Exception {}
    }

    static final class Case {
        final String name;
        final Callable<?> work;

        Case(String name, Callable<?> work) {
            this.name = name;
            this.work = work;
        }
    }

    private int number;
    private int failed;

    public static void main(String[] args) throws Exception {
        Tests tests = new Tests();
        // An exception that nobody catches fails the run.
        Thread.setDefaultUncaughtExceptionHandler((thread, error) -> tests.uncaught(error));
        System.out.println("TAP version 13");
        tests.run(Class.forName("leasehold." + args[0]), args.length > 1 ? args[1] : "");
        System.out.println("1.." + tests.number);
        System.exit(tests.failed == 0 && tests.number > 0 ? 0 : 1);
    }

    private void run(Class<?> type, String only) throws Exception {
        Object suite = type.getDeclaredConstructor().newInstance();
        List<Case> cases = new ArrayList<>();
        Method[] methods = type.getDeclaredMethods();
        Arrays.sort(methods, Comparator.comparing(Method::getName));
        for (Method method : methods) {
            if (!method.isAnnotationPresent(Test.class)) continue;
            if (only.isEmpty() || method.getName().equals(only)) {
                cases.add(new Case(method.getName(), () -> method.invoke(suite)));
            }
        }
        Suite around = suite instanceof Suite ? (Suite) suite : new Suite() {};
        try {
            if (only.isEmpty()) cases.addAll(around.cases());
            for (Case one : cases) run(around, one);
        } finally {
            around.close();
        }
    }

    private void run(Suite suite, Case one) {
        long begin = System.nanoTime();
        Throwable wrong = null;
        try {
            suite.begin(one.name);
            try {
                one.work.call();
            } finally {
                suite.end();
            }
        } catch (InvocationTargetException error) {
            wrong = error.getCause();
        } catch (Throwable error) {
            wrong = error;
        }
        report(words(one.name), wrong, System.nanoTime() - begin);
    }

    private synchronized void report(String name, Throwable wrong, long nanos) {
        ++number;
        System.out.println((wrong == null ? "ok " : "not ok ") + number + " - " + name);
        System.out.println("  ---");
        System.out.println(String.format(Locale.ROOT, "  duration_ms: %.3f", nanos / 1e6));
        System.out.println("  ...");
        if (wrong == null) return;
        ++failed;
        wrong.printStackTrace(System.out);
    }

    private synchronized void uncaught(Throwable error) {
        if (error instanceof Expected) return;
        report("no exception is left to its thread", error, 0);
    }

    private static String words(String name) {
        return name.contains(" ") ? name : name.replaceAll("([A-Z])", " $1").toLowerCase(Locale.ROOT);
    }

    // What tests say

    /** Thrown on purpose. */
    static final class Expected extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    static void equal(Object expected, Object actual) {
        if (!Objects.equals(expected, actual)) throw new AssertionError("it is " + actual + ", not " + expected);
    }

    static void that(boolean condition, Object what) {
        if (!condition) throw new AssertionError(what);
    }

    interface Work {
        void run() throws Exception;
    }

    static <E extends Throwable> E throwsA(Class<E> type, Work work) throws Exception {
        try {
            work.run();
        } catch (Throwable error) {
            if (type.isInstance(error)) return type.cast(error);
            throw new AssertionError("it throws " + error + ", not " + type.getSimpleName(), error);
        }
        throw new AssertionError("it does not throw " + type.getSimpleName());
    }

    /** Waits for a condition that has no event. */
    static void eventually(String what, Callable<Boolean> condition) throws Exception {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
        while (!condition.call()) {
            if (System.nanoTime() - deadline > 0) throw new AssertionError(what + " did not come");
            Thread.sleep(10);
        }
    }
}
