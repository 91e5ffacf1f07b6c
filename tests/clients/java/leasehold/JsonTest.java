package leasehold;

import static leasehold.Tests.equal;
import static leasehold.Tests.that;
import static leasehold.Tests.throwsA;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** JSON, read strictly. */
final class JsonTest {
    private static String printed(Object value) {
        return new String(Json.print(value), StandardCharsets.UTF_8);
    }

    @Test
    void valuesAreRead() {
        equal(
                Map.of("a", List.of(1L, -20L, 0L, 0.5, -1e3, true, false), "b", Map.of(), "", List.of()),
                Json.parse(" { \"a\" : [1, -20, 0, 0.5, -1E+3, true,false]\r\n,\"b\":{}, \"\":[ ] }\t"));
        equal(null, Json.parse("null"));
        equal("", Json.parse("\"\""));
        equal(9223372036854775807L, Json.parse("9223372036854775807"));
        equal(9.223372036854775808e18, Json.parse("9223372036854775808"));
    }

    @Test
    void textsAreRead() {
        equal("a\"\\/\b\f\n\r\tz", Json.parse("\"a\\\"\\\\\\/\\b\\f\\n\\r\\tz\""));
        equal("자물쇠 🔒", Json.parse("\"\\uc790물쇠 \\ud83d\\udd12\""));
        equal("\u0000é", Json.parse("\"\\u0000\\u00E9\""));
    }

    @Test
    void whatIsNotJsonIsNotUnderstood() throws Exception {
        for (String wrong : List.of(
                "", " ", "{", "[", "[1,]", "[1 2]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "{1:1}", "nul", "nulll",
                "True", "01", "1.", ".5", "+1", "-", "1e", "1e+", "1e999", "0x10", "NaN", "'a'", "\"", "\"\\", "\"\\x\"",
                "\"\\u12g4\"", "\"\\u123", "\"\n\"", "\"\u0001\"", "\"\\ud83d\"", "\"\\udd12\\ud83d\"", "\"\\ud83dx\"",
                "{} {}", "[]]", "1 1", "{\"a\":1,\"a\":2}", "\u00a01", "\ufeff1")) {
            throwsA(NotUnderstood.class, () -> Json.parse(wrong));
        }
        throwsA(NotUnderstood.class, () -> Json.parse("[".repeat(100_000)));
        throwsA(NotUnderstood.class, () -> Json.parse(new byte[] {'"', (byte) 0xc0, (byte) 0x80, '"'}));
    }

    @Test
    void whatIsReadCannotBeChanged() throws Exception {
        Map<?, ?> read = (Map<?, ?>) Json.parse("{\"a\":[1]}");
        throwsA(UnsupportedOperationException.class, read::clear);
        throwsA(UnsupportedOperationException.class, ((List<?>) read.get("a"))::clear);
    }

    @Test
    void valuesAreWritten() throws Exception {
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("n", null);
        fields.put("l", Arrays.asList(1L, -2, true, "x"));
        fields.put("e", List.of());
        fields.put("m", Map.of());
        equal("{\"n\":null,\"l\":[1,-2,true,\"x\"],\"e\":[],\"m\":{}}", printed(fields));
        equal("\"\\\"\\\\\\u000a\\u0000\\u007f/자🔒\"", printed("\"\\\n\u0000\u007f/자🔒"));
        throwsA(BadRequestException.class, () -> Json.print("\ud83d"));
        throwsA(IllegalArgumentException.class, () -> Json.print(0.5));
    }

    @Test
    void aFieldOfAnotherTypeIsNotUnderstood() throws Exception {
        JsonFields fields = JsonFields.of(Json.parse("{\"n\":1,\"t\":\"x\",\"o\":null,\"f\":1.5}"));
        equal(1L, fields.number("n"));
        equal(1.5, fields.anyNumber("f"));
        equal("-", fields.text("o", "-"));
        that(fields.has("o") && !fields.hasValue("o"), "null");
        for (Tests.Work wrong : List.<Tests.Work>of(
                () -> fields.number("t"),
                () -> fields.number("f"),
                () -> fields.text("n"),
                () -> fields.text("o"),
                () -> fields.object("t"),
                () -> fields.list("t", one -> one),
                () -> fields.text("missing"),
                () -> JsonFields.of(List.of()))) {
            throwsA(NotUnderstood.class, wrong);
        }
    }

    @Test
    void aKeyIsParsedAtItsFirstSlash() {
        equal(Key.of("Order", "1/2"), Key.parse("Order/1/2"));
        equal(Key.of("dist_lock", "nightly"), Key.parse("nightly"));
        equal("Order/1", Key.of("Order", "1").toString());
        that(Key.of("a", "b").hashCode() == Key.parse("a/b").hashCode(), "the hash");
        that(Key.of("a", "b").compareTo(Key.of("a", "c")) < 0 && Key.of("b", "a").compareTo(Key.of("a", "b")) > 0, "the order");
    }

    @Test
    void theClockCountsTheTimeOfASleepingMachine() {
        long[] times = {1_000, 5_000_000_000_000L}; // of the clock that stops, and of the one that does not
        SteadyClock clock = new SteadyClock(() -> times[0], () -> times[1]);
        equal(0L, clock.read());
        times[0] += 7;
        times[1] += 10_000_000; // it has only hundredths of a second
        equal(7L, clock.read());
        times[1] += 3_600_000_000_000L; // an hour of sleep
        equal(3_600_010_000_000L, clock.read());
        times[1] -= 7_200_000_000_000L; // somebody sets the clock on the wall
        times[0] += 5;
        equal(3_600_010_000_005L, clock.read());
    }

    @Test
    void theClockDoesNotGoBack() {
        long before = SteadyClock.now();
        for (int i = 0; i < 1000; ++i) {
            long now = SteadyClock.now();
            that(now >= before, "it went back");
            before = now;
        }
    }
}
