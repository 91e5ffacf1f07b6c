package leasehold;

import static leasehold.Tests.equal;
import static leasehold.Tests.eventually;
import static leasehold.Tests.that;
import static leasehold.Tests.throwsA;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** What is repeated after a fault and what is not, waiting, threads, and answers that are no answers. */
final class CallsTest extends ClientTest {
    private static final Map<String, String> NO_FIELDS = Map.of();
    private static final Terms ALICE = Terms.of("alice");

    CallsTest() throws Exception {}

    // Repeating

    @Test
    void aTryWhoseAnswerWasLostReturnsThatGrant() {
        host.gate("cut_before_answer");
        Lease lease = client.tryLock(key, ALICE);
        equal(lease.fence(), direct.holders(key).holders().get(0).fence());
        equal(List.of(), history());
    }

    @Test
    void aRenewalAReleaseAndABatchWhoseAnswersWereLostAreRepeated() {
        Lease lease = client.tryLock(key, ALICE);
        host.gate("cut_before_answer");
        that(client.renew(lease, Duration.ofMinutes(10)).validFor().toSeconds() > 400, "not renewed");
        host.gate("cut_before_answer");
        Batch batch = client.batch();
        Batch.Answer<Lease> checked = batch.check(lease);
        batch.send();
        equal(lease.fence(), checked.get().fence());
        host.gate("cut_before_answer");
        equal(Ending.Reason.RELEASED, client.release(lease).orElseThrow().reason());
    }

    @Test
    void anExtensionWhoseAnswerWasLostIsNotRepeated() throws Exception {
        Lease lease = client.tryLock(key, ALICE.ttl(Duration.ofSeconds(100)));
        host.gate("cut_before_answer");
        FaultException fault =
                throwsA(FaultException.class, () -> client.extend(lease, Duration.ofSeconds(1000)));
        equal(Effect.UNKNOWN, fault.effect());
        that(direct.check(lease).validFor().toSeconds() < 1100, "extended twice");
    }

    @Test
    void anExtensionThatWasNotSentIsRepeated() {
        Lease lease = client.tryLock(key, ALICE.ttl(Duration.ofSeconds(100)));
        host.gate("answer", 503, NO_FIELDS, "{\"code\": \"overloaded\"}");
        that(client.extend(lease, Duration.ofSeconds(1000)).validFor().toSeconds() > 900, "not extended");
    }

    @Test
    void aNewLockIdIsDrawnWhenALostGrantHasExpired() throws Exception {
        LeaseholdClient patient = patient(60_000);
        patient.holders(key); // opens the connection that the try will use
        host.gate("refuse");
        host.gate("cut_before_answer");
        Background<Lease> trying = new Background<>(() -> patient.tryLock(key, ALICE.ttl(Duration.ofMillis(200))));
        eventually("the end of the lost lease", () -> !history().isEmpty());
        long lost = direct.history(key).findFirst().orElseThrow().fence();
        host.gate("accept");
        that(trying.result().fence() > lost, "the lease that ended");
    }

    @Test
    void theEffectIsUnknownIfTheEffectOfAnyAttemptWas() throws Exception {
        LeaseholdClient hurried = patient(300);
        hurried.holders(key); // opens the connection that the try will use
        host.gate("refuse");
        host.gate("cut_before_answer");
        FaultException fault = throwsA(FaultException.class, () -> hurried.tryLock(key, ALICE));
        host.gate("accept");
        equal(Effect.UNKNOWN, fault.effect());
        that(fault.getMessage().contains("cannot be reached"), fault);
    }

    @Test
    void aRequestThatNobodyListenedToHadNoEffect() throws Exception {
        host.gate("refuse");
        FaultException fault = throwsA(FaultException.class, () -> patient(100).tryLock(key, ALICE));
        host.gate("accept");
        equal(Effect.NONE, fault.effect());
        equal(FaultException.Kind.UNAVAILABLE, fault.kind());
    }

    @Test
    void aTryThatGivesUpReleasesWhatItMayHaveBeenGranted() throws Exception {
        host.gate("cut_before_answer");
        FaultException fault = throwsA(FaultException.class, () -> patient(0).tryLock(key, ALICE));
        equal(Effect.UNKNOWN, fault.effect());
        equal(List.of(), holders());
        equal(List.of(Ending.Reason.RELEASED), history());
    }

    @Test
    void aTryWithALockIdOfTheCallerIsNotReleased() throws Exception {
        String lockId = LeaseholdClient.newLockId();
        host.gate("cut_before_answer");
        throwsA(FaultException.class, () -> patient(0).tryLock(key, ALICE.lockId(lockId)));
        equal("alice", client.check(Leased.of(key, lockId)).owner());
    }

    @Test
    void aBatchThatFailedCanBeSentAgain() throws Exception {
        Batch batch = patient(0).batch();
        Batch.Answer<Lease> taken = batch.tryLock(key, ALICE);
        throwsA(IllegalStateException.class, taken::get);
        host.gate("cut_before_answer");
        equal(Effect.UNKNOWN, throwsA(FaultException.class, batch::send).effect());
        batch.send();
        equal(List.of(), history()); // it is the same grant
        equal("alice", taken.get().owner());
    }

    @Test
    void retryAfterIsRespected() {
        host.gate("answer", 429, Map.of("Retry-After", "1"), "{\"code\": \"too_many_requests\", \"detail\": \"slowly\"}");
        long begin = SteadyClock.now();
        client.tryLock(key, ALICE);
        that(SteadyClock.now() - begin >= TimeUnit.SECONDS.toNanos(1), "too early");
    }

    @Test
    void aRetryAfterBeyondThePatienceIsThrownAtOnce() throws Exception {
        host.gate("answer", 503, Map.of("Retry-After", "3600"), "{\"code\": \"overloaded\", \"detail\": \"later\"}");
        FaultException fault = throwsA(FaultException.class, () -> client.tryLock(key, ALICE));
        equal(Effect.NONE, fault.effect());
        equal(Duration.ofHours(1), fault.retryAfter());
        equal("overloaded", fault.code());
    }

    @Test
    void pagesOfAProxyAndThingsThatAreNotHttpAreSurvived() {
        Map<String, String> page = Map.of("Content-Type", "text/html");
        host.gate("answer", 502, page, "<h1>Bad Gateway</h1>");
        host.gate("answer", 200, page, "<h1>Welcome</h1>");
        host.gate("answer_bytes", "SSH-2.0-OpenSSH_9.2\r\n");
        host.gate("answer_bytes", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{");
        host.gate("answer_bytes", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n");
        host.gate("answer_bytes", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n[]");
        equal("alice", client.tryLock(key, ALICE).owner());
    }

    @Test
    void noTextOfAServerActsOnATerminal() throws Exception {
        for (String code : List.of("", "gone")) {
            String body = "{\"code\": \"" + code + "\", \"reason\": \"broken\", \"detail\": \"no \\u001b[2J\\r\\n\\u202eway \\udb40\\udc01\"}";
            host.gate("answer", code.isEmpty() ? 403 : 410, NO_FIELDS, body);
            LeaseholdException refused = throwsA(LeaseholdException.class, () -> client.holders(key));
            that(refused.getMessage().endsWith("no  [2J   way  "), refused);
        }
    }

    @Test
    void aChunkedAnswerOfAProxyIsRead() {
        String body = "{\"holders\":[],\"store_now\":\"2026-01-01T00:00:00.000000Z\",\"waiting\":[\"bob\"]}";
        String rest = Integer.toHexString(body.length() - 5);
        host.gate("answer_bytes", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n" + body.substring(0, 5)
                + "\r\n" + rest + ";x=y\r\n" + body.substring(5) + "\r\n0\r\n\r\n");
        equal(List.of("bob"), client.holders(key).waiting());
    }

    @Test
    void aServerThatDiesInTheMiddleOfARequestIsWaitedFor() throws Exception {
        client.holders(key);
        host.server("pause");
        Background<Lease> trying = new Background<>(() -> patient(60_000).tryLock(key, ALICE));
        host.server("kill");
        host.server("start");
        equal("alice", trying.result().owner());
        equal(List.of("alice"), holders());
    }

    @Test
    void anAnswerThatComesByteByByteDoesNotOutlastTheTimeout() throws Exception {
        CountDownLatch ended = new CountDownLatch(1);
        try (ServerSocket dripping = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            Background<Void> server = new Background<>(() -> {
                try (Socket connection = dripping.accept()) {
                    String head = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n";
                    connection.getOutputStream().write(head.getBytes(StandardCharsets.US_ASCII));
                    while (!ended.await(20, TimeUnit.MILLISECONDS)) connection.getOutputStream().write(' ');
                    throw new AssertionError("the connection was not closed");
                } catch (IOException closed) {
                    return null;
                }
            });
            LeaseholdClient hurried = LeaseholdClient.builder("http://127.0.0.1:" + dripping.getLocalPort())
                    .timeout(Duration.ofMillis(300))
                    .patience(Duration.ZERO)
                    .build();
            FaultException fault = throwsA(FaultException.class, () -> hurried.holders(key));
            equal(Effect.NONE, fault.effect());
            that(fault.getMessage().contains("timed out"), fault);
            server.result(); // the client has closed the connection
        } finally {
            ended.countDown();
        }
    }

    // Asking

    @Test
    void aWrongRequestIsNotSent() throws Exception {
        // Nobody listens there: what is sent is another fault.
        LeaseholdClient nowhere = LeaseholdClient.builder("http://127.0.0.1:1").patience(Duration.ZERO).build();
        for (Tests.Work wrong : List.<Tests.Work>of(
                () -> nowhere.tryLock("../batch", ALICE),
                () -> nowhere.tryLock("Order/", ALICE),
                () -> nowhere.tryLock("Order/\udc80", ALICE),
                () -> nowhere.tryLock("Order/1", Terms.of("\ud800")),
                () -> nowhere.check(Leased.of("Order/1", "a\r\nHost: b")),
                () -> nowhere.check(Leased.of("Order/1", "")),
                () -> nowhere.releaseAll("", OwnerScope.EXACT),
                () -> nowhere.tryLock("Order/1", ALICE.ttl(Duration.ofSeconds(Long.MAX_VALUE))),
                () -> nowhere.tryAll(List.of(key), ALICE.lockId("x")),
                () -> nowhere.list(Filter.all().key(key)),
                () -> nowhere.events(Filter.all().containing("x")),
                () -> nowhere.releaseAfter(Leased.of(LeaseholdClient.newLockId()), Duration.ofSeconds(1)))) {
            throwsA(BadRequestException.class, wrong);
        }
        throwsA(FaultException.class, () -> nowhere.tryLock("Order/1", ALICE));
    }

    @Test
    void whatTheServerCallsWrongIsABadRequestToo() throws Exception {
        BadRequestException wrong = throwsA(
                BadRequestException.class, () -> client.tryLock(key, ALICE.ttl(Duration.ofMillis(1))));
        that(wrong.getMessage().contains("at least 10ms is needed"), wrong);
    }

    @Test
    void theSecretIsNotShown() {
        Lease lease = client.tryLock(key, ALICE);
        that(!lease.toString().contains(lease.lockId()), lease);
        that(!Leased.of(key, lease.lockId()).toString().contains(lease.lockId()), "the name of a lease");
    }

    @Test
    void aLeaseIsFoundByItsLockIdAlone() throws Exception {
        Lease lease = client.tryLock(key, ALICE.ttl(Duration.ofSeconds(100)));
        Leased named = Leased.of(lease.lockId());
        equal(key, client.check(named).key());
        that(client.renew(named, Duration.ofSeconds(600)).validFor().toSeconds() > 400, "not renewed");
        that(client.extend(named, Duration.ofSeconds(600)).validFor().toSeconds() > 1000, "not extended");
        that(client.release(named).isEmpty(), "not released");
        equal(Ending.Reason.RELEASED, client.release(named).orElseThrow().reason());
        equal(Ending.Reason.RELEASED, throwsA(GoneException.class, () -> client.check(named)).ending().reason());
    }

    @Test
    void aNameWithoutASlashIsThatOfTheCommand() {
        equal(Key.of("dist_lock", "nightly"), client.tryLock("nightly", ALICE).key());
    }

    @Test
    void aDelayedReleaseIsCancelledByARenewal() {
        Lease lease = client.tryLock(key, ALICE);
        that(client.releaseAfter(lease, Duration.ofSeconds(30)).isEmpty(), "it had ended");
        that(client.renew(lease, Duration.ofSeconds(600)).validFor().toSeconds() > 400, "not renewed");
    }

    @Test
    void aLeaseWithoutAnEndIsValidForEver() throws Exception {
        try (Host endless = new Host(Map.of("allow-endless", "true"))) {
            LeaseholdClient other = LeaseholdClient.connect(endless.server);
            Lease lease = other.tryLock(key, ALICE.untilReleased());
            equal(true, lease.expiresAt().isEmpty() && lease.remaining().isEmpty());
            that(lease.validFor().toDays() > 36500, lease.validFor());
            throwsA(BadRequestException.class, () -> other.hold(key, ALICE.untilReleased()));
        }
    }

    @Test
    void aKeyThatSomebodyHadSinceIsGone() throws Exception {
        Lease first = client.tryLock(key, ALICE);
        client.release(first);
        Lease again = client.tryLock(key, ALICE.since(first.fence()));
        client.release(again);
        throwsA(GoneException.class, () -> client.tryLock(key, ALICE.since(first.fence())));
    }

    @Test
    void aKnockOnAFreeKeyReachesNobody() {
        equal(List.of(), client.knock(key, "May I?", "bob"));
    }

    @Test
    void threadsShareAClient() throws Exception {
        int[] counted = {0};
        List<Background<Void>> threads = new ArrayList<>();
        for (int i = 0; i < 6; ++i) {
            Terms terms = Terms.of("thread-" + i);
            threads.add(new Background<>(() -> {
                for (int j = 0; j < 5; ++j) {
                    Lease lease = client.lockFor(key, Duration.ofMinutes(1), terms);
                    int seen = counted[0];
                    Thread.sleep(1);
                    counted[0] = seen + 1;
                    client.release(lease);
                }
                return null;
            }));
        }
        for (Background<Void> thread : threads) thread.result();
        equal(30, counted[0]);
    }

    @Test
    void anInterruptedThreadSendsNothing() throws Exception {
        Thread.currentThread().interrupt();
        FaultException fault = throwsA(FaultException.class, () -> client.tryLock(key, ALICE));
        equal(true, Thread.interrupted());
        equal(Effect.NONE, fault.effect());
        equal(List.of(), history());
    }

    // Waiting

    @Test
    void aWaitLongerThanTheServerPermitsGoesOn() throws Exception {
        try (Host hurried = new Host(Map.of("longest-wait", "200ms"))) {
            LeaseholdClient other = LeaseholdClient.connect(hurried.server);
            Lease held = other.tryLock(key, ALICE);
            long begin = SteadyClock.now();
            Background<Lease> bob = new Background<>(() -> LeaseholdClient.connect(hurried.server)
                    .lockFor(key, Duration.ofMinutes(1), Terms.of("bob")));
            eventually("the place in the line", () -> SteadyClock.now() - begin > TimeUnit.MILLISECONDS.toNanos(700)
                    && other.holders(key).waiting().equals(List.of("bob")));
            other.release(held);
            equal("bob", bob.result().owner());
        }
    }

    @Test
    void theTimeOfALeaseThatWasWaitedForBeginsAtTheGrant() throws Exception {
        Lease held = direct.tryLock(key, ALICE);
        long begin = SteadyClock.now();
        Background<Lease> bob = new Background<>(() ->
                client.lockFor(key, Duration.ofMinutes(1), Terms.of("bob").ttl(Duration.ofSeconds(10))));
        eventually("the place in the line", () -> SteadyClock.now() - begin > TimeUnit.MILLISECONDS.toNanos(2000)
                && direct.holders(key).waiting().equals(List.of("bob")));
        direct.release(held);
        // Not 10 seconds after the request was sent.
        that(bob.result().validUntil() - begin > TimeUnit.SECONDS.toNanos(11), "counted from the request");
    }

    @Test
    void aGrantThatCannotBeConfirmedIsGivenBack() throws Exception {
        Lease held = direct.tryLock(key, ALICE);
        Background<Lease> bob = new Background<>(() ->
                patient(0).lockFor(key, Duration.ofMinutes(1), Terms.of("bob").ttl(Duration.ofSeconds(5))));
        eventually("the place in the line", () -> direct.holders(key).waiting().equals(List.of("bob")));
        Thread.sleep(700); // a tenth of the ttl: the grant is checked
        host.gate("forbid", "GET");
        direct.release(held);
        equal(Effect.UNKNOWN, throwsA(FaultException.class, bob::result).effect());
        equal(List.of(), holders());
    }

    @Test
    void anInterruptedWaitLeavesTheLineAndHoldsNothing() throws Exception {
        Lease held = direct.tryLock(key, ALICE);
        boolean[] stillInterrupted = {false};
        Background<Lease> bob = new Background<>(() -> {
            try {
                return client.lockFor(key, Duration.ofMinutes(1), Terms.of("bob"));
            } finally {
                stillInterrupted[0] = Thread.interrupted();
            }
        });
        eventually("the place in the line", () -> direct.holders(key).waiting().equals(List.of("bob")));
        bob.thread.interrupt();
        FaultException fault = throwsA(FaultException.class, bob::result);
        equal(FaultException.Kind.INTERRUPTED, fault.kind());
        equal(true, stillInterrupted[0]);
        eventually("the end of the wait", () -> direct.holders(key).waiting().isEmpty());
        direct.release(held);
        equal(List.of(), holders());
    }
}
