package leasehold;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;

/** A server behind a gate for a class of tests. Each test has a key of its own. */
abstract class ClientTest implements Tests.Suite {
    private static final AtomicInteger NUMBER = new AtomicInteger();

    final Host host;
    Key key;
    LeaseholdClient client;
    LeaseholdClient direct; // not through the gate

    ClientTest() throws Exception {
        host = new Host(Map.of("min-ttl", "10ms"));
    }

    @Override
    public void begin(String test) {
        key = Key.of("Test-" + NUMBER.incrementAndGet(), test);
        client = LeaseholdClient.connect(host.gate);
        direct = LeaseholdClient.connect(host.server);
    }

    @Override
    public void end() {
        host.gate("pass_everything");
        if (Thread.interrupted()) throw new AssertionError("the test leaves its thread interrupted");
    }

    @Override
    public void close() throws Exception {
        host.close();
    }

    LeaseholdClient patient(long milliseconds) {
        return LeaseholdClient.builder(host.gate).patience(Duration.ofMillis(milliseconds)).build();
    }

    List<String> holders() {
        return direct.holders(key).holders().stream().map(Holder::owner).collect(Collectors.toList());
    }

    List<Ending.Reason> history() {
        return direct.history(key).map(past -> past.ending().reason()).collect(Collectors.toList());
    }
}
