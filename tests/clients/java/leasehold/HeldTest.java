package leasehold;

import static leasehold.Tests.equal;
import static leasehold.Tests.eventually;
import static leasehold.Tests.that;
import static leasehold.Tests.throwsA;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

/** {@code client.hold()}: the lease is kept alive, its loss is told in time, and it is released at the end. */
final class HeldTest extends ClientTest {
    private static final Terms ALICE = Terms.of("alice");

    HeldTest() throws Exception {}

    private static Terms alice(long ttlSeconds) {
        return ALICE.ttl(Duration.ofSeconds(ttlSeconds));
    }

    private static Duration millis(long milliseconds) {
        return Duration.ofMillis(milliseconds);
    }

    private Holder holder() {
        return direct.holders(key).holders().get(0);
    }

    private long lifeMillis(Instant since) {
        return Duration.between(since, holder().expiresAt().orElseThrow()).toMillis();
    }

    @Test
    void aLeaseIsRenewedAndReleasedAtTheEnd() throws Exception {
        try (Held held = client.hold(key, alice(30), Hold.options().every(millis(100)))) {
            Holder first = holder();
            eventually("renewals", () -> lifeMillis(first.grantedAt()) > 30_500);
            equal(first.fence(), held.fence());
            equal(false, held.isLost());
            equal(false, held.whenLost().isDone());
            that(!held.timeLeft().isNegative(), held.timeLeft());
            held.ensure();
        }
        equal(List.of(), holders());
        equal(List.of(Ending.Reason.RELEASED), history());
    }

    @Test
    void aKeyThatIsHeldIsRefusedWhenTheWaitIsOver() throws Exception {
        direct.tryLock(key, Terms.of("bob"));
        for (long wait : new long[] {0, 100}) {
            HeldByOthersException refused = throwsA(
                    HeldByOthersException.class, () -> client.hold(key, ALICE, Hold.options().waiting(millis(wait))));
            equal("bob", refused.holders().get(0).owner());
        }
    }

    @Test
    void aKeyIsWaitedFor() throws Exception {
        Lease before = direct.tryLock(key, Terms.of("bob"));
        Background<Long> taking = new Background<>(() -> {
            try (Held held = client.hold(key, ALICE, Hold.options().waiting(Duration.ofMinutes(1)))) {
                return held.fence();
            }
        });
        eventually("the wait", () -> direct.holders(key).waiting().equals(List.of("alice")));
        direct.release(before);
        that(taking.result() > before.fence(), "the fence did not grow");
    }

    @Test
    void aBrokenLeaseIsLostAndSaysWhoBrokeIt() throws Exception {
        List<LeaseLostException> told = new CopyOnWriteArrayList<>();
        CountDownLatch called = new CountDownLatch(1);
        Hold options = Hold.options().every(millis(200)).onLost(loss -> {
            told.add(loss);
            called.countDown();
        });
        Held held = client.hold(key, alice(30), options);
        direct.breakLock(key, held.fence(), "admin", "holiday");
        told.add(held.whenLost().get(Tests.PATIENCE_SECONDS, TimeUnit.SECONDS));
        that(called.await(Tests.PATIENCE_SECONDS, TimeUnit.SECONDS), "nobody was called");
        told.add(throwsA(LeaseLostException.class, held::ensure));
        told.add(held.loss().orElseThrow());
        told.add(throwsA(LeaseLostException.class, held::close));
        equal(5, told.size());
        for (LeaseLostException loss : told) {
            equal("broken by admin (holiday)", ((GoneException) loss.getCause()).ending().toString());
        }
        held.close(); // once more does nothing
    }

    @Test
    void aLeaseThatBrokeAfterTheLastRenewalIsNoticedAtTheEnd() throws Exception {
        Held held = client.hold(key, alice(600));
        direct.breakLock(key, held.fence(), "admin", "");
        throwsA(LeaseLostException.class, held::close);
    }

    @Test
    void theThreadIsInterruptedWhenTheLeaseIsLost() throws Exception {
        LeaseLostException lost = throwsA(LeaseLostException.class, () -> {
            try (Held held = client.hold(key, alice(30), Hold.options().every(millis(200)).interrupting())) {
                direct.breakLock(key, held.fence(), "admin", "");
                throwsA(InterruptedException.class, () -> Thread.sleep(60_000));
            }
        });
        equal(Ending.Reason.BROKEN, ((GoneException) lost.getCause()).ending().reason());
    }

    @Test
    void anInterruptThatNobodyNoticedEndsWithTheLease() throws Exception {
        CountDownLatch interrupted = new CountDownLatch(1);
        throwsA(LeaseLostException.class, () -> {
            Hold options = Hold.options().every(millis(200)).interrupting().onLost(loss -> interrupted.countDown());
            try (Held held = client.hold(key, alice(30), options)) {
                direct.breakLock(key, held.fence(), "admin", "");
                while (interrupted.getCount() > 0) Thread.onSpinWait();
                equal(true, Thread.currentThread().isInterrupted());
            }
        });
        equal(false, Thread.currentThread().isInterrupted());
    }

    @Test
    void anInterruptOfSomebodyElseIsKeptAndTheLeaseIsReleased() {
        try (Held held = client.hold(key, ALICE, Hold.options().interrupting())) {
            Thread.currentThread().interrupt();
        }
        equal(true, Thread.interrupted());
        equal(List.of(), holders());
    }

    @Test
    void theLossIsToldBeforeAnybodyElseCanGetTheLock() throws Exception {
        AtomicReference<Object> seen = new AtomicReference<>();
        // Nothing passes: the renewal that is under way when the time is up never ends by itself.
        Hold options = Hold.options().every(millis(300)).margin(millis(18_500)).onLost(loss -> seen.set(holders()));
        LeaseLostException lost = throwsA(LeaseLostException.class, () -> {
            try (Held held = client.hold(key, alice(20), options)) {
                host.gate("hold");
                eventually("the loss", () -> seen.get() != null);
                equal(true, held.isLost());
                equal(true, held.whenLost().isDone());
                host.gate("pass_everything");
            }
        });
        that(lost.getCause() instanceof FaultException, lost.getCause());
        equal(List.of("alice"), seen.get());
    }

    @Test
    void aRenewalThatIsConfirmedTooLateDoesNotBringTheLeaseBack() throws Exception {
        throwsA(LeaseLostException.class, () -> {
            Hold options = Hold.options().every(millis(100)).margin(Duration.ofSeconds(59));
            try (Held held = patient(0).hold(key, alice(60), options)) {
                host.gate("hold_answers");
                held.whenLost().get(Tests.PATIENCE_SECONDS, TimeUnit.SECONDS);
                host.gate("pass_everything");
                equal(List.of("alice"), holders()); // the server still has the lease
                equal(true, held.isLost());
            }
        });
    }

    @Test
    void faultsInBetweenAreSurvived() throws Exception {
        try (Held held = client.hold(key, alice(8), Hold.options().every(millis(200)))) {
            Instant granted = holder().grantedAt();
            host.gate("cut");
            host.gate("answer", 502, Map.of("Content-Type", "text/html"), "<h1>Bad Gateway</h1>");
            host.gate("answer", 429, Map.of("Retry-After", "60"), "{\"code\": \"too_many_requests\"}");
            host.gate("cut_before_answer");
            eventually("renewals", () -> lifeMillis(granted) > 8500);
            equal(false, held.isLost());
        }
    }

    @Test
    void theErrorOfTheWorkIsNotHiddenAndTheLockIsReleased() throws Exception {
        Tests.Expected error = throwsA(Tests.Expected.class, () -> {
            try (Held held = client.hold(key, alice(600))) {
                direct.breakLock(key, held.fence(), "admin", "");
                throw new Tests.Expected();
            }
        });
        that(error.getSuppressed()[0] instanceof LeaseLostException, error.getSuppressed()[0]);
        throwsA(Tests.Expected.class, () -> {
            try (Held held = client.hold(key, ALICE)) {
                throw new Tests.Expected();
            }
        });
        equal(List.of(), holders());
    }

    @Test
    void aLeaseThatTheWorkReleasedItselfIsNotLost() {
        try (Held held = client.hold(key, alice(600))) {
            that(client.release(held).isEmpty(), "it had ended");
        }
    }

    @Test
    void aReleaseThatFailsThrowsNothing() {
        try (Held held = patient(0).hold(key, alice(600))) {
            host.gate("answer", 500, Map.of(), "{}");
        }
        equal(List.of("alice"), holders());
    }

    @Test
    void aCallbackThatFailsDoesNotStopAnything() throws Exception {
        throwsA(LeaseLostException.class, () -> {
            Hold options = Hold.options().every(millis(200)).onLost(loss -> {
                throw new Tests.Expected();
            });
            try (Held held = client.hold(key, alice(30), options)) {
                direct.breakLock(key, held.fence(), "admin", "");
                held.whenLost().get(Tests.PATIENCE_SECONDS, TimeUnit.SECONDS);
            }
        });
    }

    @Test
    void termsThatCannotWorkAreRefused() throws Exception {
        Terms second = alice(1);
        for (Tests.Work wrong : List.<Tests.Work>of(
                () -> client.hold(key, second, Hold.options().every(millis(1000))),
                () -> client.hold(key, second, Hold.options().margin(millis(700))),
                () -> client.hold(key, second, Hold.options().margin(millis(-1))),
                () -> client.hold(key, second, Hold.options().every(Duration.ZERO)),
                () -> client.hold(key, second, Hold.options().every(Duration.ofSeconds(Long.MAX_VALUE))))) {
            throwsA(BadRequestException.class, wrong);
        }
        equal(List.of(), holders());
    }

    @Test
    void noThreadIsLeft() throws Exception {
        try (Held held = client.hold(key, alice(60), Hold.options().every(millis(100)))) {
            eventually("a renewal", () -> lifeMillis(holder().grantedAt()) > 60_000);
        }
        eventually("the end of the threads", () -> Thread.getAllStackTraces().keySet().stream()
                .noneMatch(thread -> thread.getName().startsWith("leasehold-")));
    }

    /** Says all the time what it believes: the program of the next test. */
    static final class Believer {
        public static void main(String[] args) {
            Held held = LeaseholdClient.connect(args[0])
                    .hold(args[1], Terms.of("alice").ttl(Duration.ofSeconds(2)));
            System.out.println("taken");
            for (int seenLost = 0; seenLost < 3; ) {
                long at = System.currentTimeMillis();
                boolean lost = held.isLost();
                if (lost) ++seenLost;
                System.out.println(at + (lost ? " lost" : " held"));
            }
        }
    }

    @Test
    void aPausedProcessKnowsThatItsLeaseIsLostAsSoonAsItGoesOn() throws Exception {
        Process process = new ProcessBuilder(
                        ProcessHandle.current().info().command().orElseThrow(),
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        System.getProperty("java.class.path"),
                        "leasehold.HeldTest$Believer",
                        host.server,
                        key.toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        try (BufferedReader lines =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.US_ASCII))) {
            equal("taken", lines.readLine());
            signal(process, "STOP");
            direct.lockFor(key, Duration.ofMinutes(1), Terms.of("bob"));
            long takenAt = System.currentTimeMillis();
            signal(process, "CONT");
            // Nothing that it says after bob has the lock may be "held".
            int later = 0;
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                String[] words = line.split(" ");
                if (Long.parseLong(words[0]) <= takenAt) continue;
                equal("lost", words[1]);
                ++later;
            }
            that(later > 0, "it said nothing");
        } finally {
            process.destroyForcibly();
        }
    }

    private static void signal(Process process, String name) throws Exception {
        equal(0, new ProcessBuilder("kill", "-" + name, Long.toString(process.pid())).start().waitFor());
    }
}
