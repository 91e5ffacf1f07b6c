package leasehold;

import static leasehold.Tests.equal;
import static leasehold.Tests.eventually;
import static leasehold.Tests.that;
import static leasehold.Tests.throwsA;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;

/** Streams of events. */
final class EventsTest extends ClientTest {
    private static final Terms ALICE = Terms.of("alice");

    EventsTest() throws Exception {}

    private EventStream events() {
        return client.events(Filter.all().key(key));
    }

    @Test
    void eventsAreToldInTheirOrder() {
        try (EventStream events = events()) {
            Lease lease = direct.tryLock(key, ALICE);
            direct.release(lease);
            Iterator<Event> read = events.iterator();
            Event granted = read.next();
            equal("granted " + key + " alice", granted.toString());
            equal(key, granted.key().orElseThrow());
            equal(lease.fence(), granted.fence().orElseThrow());
            equal("exclusive", granted.text("mode"));
            equal("released", read.next().name());
        }
    }

    @Test
    void anotherStreamGoesOnBehindTheLastEvent() {
        String lastId;
        Lease lease;
        try (EventStream events = events()) {
            lease = direct.tryLock(key, ALICE);
            Event granted = events.iterator().next();
            lastId = events.lastId();
            equal(granted.id(), lastId);
        }
        direct.release(lease);
        try (EventStream events = client.events(Filter.all().key(key), lastId)) {
            equal("released", events.iterator().next().name());
        }
    }

    @Test
    void nothingIsMissedOfAStreamThatWasCutBeforeItsFirstEvent() {
        try (EventStream events = events()) {
            host.gate("refuse");
            host.gate("cut");
            direct.tryLock(key, ALICE);
            host.gate("accept");
            equal("granted", events.iterator().next().name());
        }
    }

    @Test
    void aStreamThatIsClosedBySomebodyElseEnds() throws Exception {
        try (EventStream events = events()) {
            List<Event> read = new CopyOnWriteArrayList<>();
            Background<Void> reading = new Background<>(() -> {
                events.forEach(read::add);
                return null;
            });
            direct.tryLock(key, ALICE);
            eventually("an event", () -> !read.isEmpty());
            events.close();
            reading.result();
            equal(1, read.size());
        }
    }

    @Test
    void aServerThatDoesNotComeBackIsAFaultAndTheStreamCanGoOn() throws Exception {
        try (EventStream events = patient(500).events(Filter.all().key(key))) {
            direct.tryLock(key, ALICE);
            Iterator<Event> read = events.iterator();
            read.next();
            host.gate("refuse");
            host.gate("cut");
            throwsA(FaultException.class, read::next);
            host.gate("accept");
            direct.releaseAll("alice", OwnerScope.EXACT);
            equal("released", read.next().name());
        }
    }

    @Test
    void aPageInsteadOfAStreamIsNotTakenForOne() {
        host.gate("answer", 200, Map.of("Content-Type", "text/html"), "<h1>Welcome</h1>");
        try (EventStream events = events()) { // connects again
            direct.tryLock(key, ALICE);
            equal("granted", events.iterator().next().name());
        }
    }

    @Test
    void aRequestThatTheServerDoesNotAcceptIsThrownAtOnce() throws Exception {
        host.gate("answer", 403, Map.of(), "{\"code\": \"forbidden\", \"detail\": \"the token lacks the role see\"}");
        FaultException fault = throwsA(FaultException.class, this::events);
        that(fault.getMessage().contains("lacks the role"), fault);
        equal(FaultException.Kind.NOT_ALLOWED, fault.kind());
    }

    @Test
    void anInterruptEndsTheWaitForAnEvent() throws Exception {
        try (EventStream events = events()) {
            Background<Event> reading = new Background<>(() -> events.iterator().next());
            reading.thread.interrupt();
            equal(FaultException.Kind.INTERRUPTED, throwsA(FaultException.class, reading::result).kind());
        }
    }

    // The parser

    private static List<String> parse(String... pieces) {
        EventParser parser = new EventParser("");
        List<String> read = new ArrayList<>();
        for (String piece : pieces) {
            parser.take(piece.getBytes(StandardCharsets.UTF_8));
            for (Event event = parser.next(); event != null; event = parser.next()) {
                read.add(event.id() + " " + event.name() + " " + event.data());
            }
        }
        return read;
    }

    @Test
    void linesBecomeEvents() {
        List<String> expected = List.of("b granted {a=1}");
        String text = ": hello\nretry: 2000\nid: a\n\nid: b\r\nevent: granted\r\ndata: {\"a\":\r\ndata:1}\r\n\r\nevent: x\n\n";
        equal(expected, parse(text));
        equal(expected, parse(text.split("(?<=.)"))); // one letter after the other
    }

    @Test
    void whatIsNoEventIsAnError() throws Exception {
        for (String wrong : List.of("data: {\n\n", "data: []\n\n")) throwsA(NotUnderstood.class, () -> parse(wrong));
        byte[] notUtf8 = {'d', ':', (byte) 0xff, '\n'};
        throwsA(NotUnderstood.class, () -> new EventParser("").take(notUtf8));
    }

    @Test
    void anEventThatDoesNotEndIsAnError() throws Exception {
        byte[] line = "data: 1234567890\n".getBytes(StandardCharsets.UTF_8);
        EventParser parser = new EventParser("");
        throwsA(NotUnderstood.class, () -> {
            for (int i = 0; i < 100_000; ++i) parser.take(line);
        });
        byte[] piece = "x".repeat(1 << 10).getBytes(StandardCharsets.UTF_8);
        EventParser other = new EventParser("");
        throwsA(NotUnderstood.class, () -> {
            for (int i = 0; i < 2_000; ++i) other.take(piece);
        });
    }

    @Test
    void aFilterIsSentAsItIs() {
        String sent = Wire.withQuery("/v1/locks", Filter.all().type("주 문").owner("a/b", OwnerScope.BELOW).parameters());
        equal("/v1/locks?type=%EC%A3%BC%20%EB%AC%B8&owner=a%2Fb&scope=below", sent);
        equal(60_001L, Wire.milliseconds(Duration.ofMinutes(1).plusNanos(1)));
    }
}
