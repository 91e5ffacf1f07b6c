package leasehold;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Map;
import java.util.Queue;

/** Takes the bytes of a stream of server-sent events. */
final class EventParser {
    private static final int LONGEST_EVENT = 1 << 20;

    private final Queue<Event> events = new ArrayDeque<>();
    private final ByteArrayOutputStream line = new ByteArrayOutputStream();
    private String lastId; // of the last line with an id
    private String position; // that id at the end of the last block; null before the first one
    private String name = "message";
    private StringBuilder data; // null: none so far

    EventParser(String lastId) {
        this.lastId = lastId;
    }

    /** Throws {@link NotUnderstood} if an event is not as the server sends it. */
    void take(byte[] piece) {
        for (byte one : piece) {
            if (one == '\n') {
                line(line.toByteArray());
                line.reset();
            } else {
                line.write(one);
            }
        }
        if (line.size() > LONGEST_EVENT) throw new NotUnderstood("a line is too long");
    }

    /** The next event that is complete; null if there is none. */
    Event next() {
        return events.poll();
    }

    /** Where the stream is: everything up to this id is told, or waits in next(). Null at its beginning. */
    String position() {
        return position;
    }

    private void line(byte[] utf8) {
        int length = utf8.length > 0 && utf8[utf8.length - 1] == '\r' ? utf8.length - 1 : utf8.length;
        if (length == 0) {
            end();
            return;
        }
        String text;
        try {
            text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(utf8, 0, length)).toString();
        } catch (CharacterCodingException wrong) {
            throw new NotUnderstood("a line is not UTF-8");
        }
        int colon = text.indexOf(':');
        String field = colon < 0 ? text : text.substring(0, colon);
        String value = colon < 0 ? "" : text.substring(text.startsWith(" ", colon + 1) ? colon + 2 : colon + 1);
        if (field.equals("id")) {
            lastId = value;
        } else if (field.equals("event")) {
            name = value;
        } else if (field.equals("data")) {
            if (data == null) {
                data = new StringBuilder(value);
            } else {
                data.append('\n').append(value);
            }
            if (data.length() > LONGEST_EVENT) throw new NotUnderstood("an event is too long");
        }
    }

    @SuppressWarnings("unchecked") // Json.parse() returns no other maps
    private void end() {
        if (data != null) {
            Object fields = Json.parse(data.toString());
            if (!(fields instanceof Map)) throw new NotUnderstood("the data of an event is not an object");
            events.add(new Event(lastId, name, (Map<String, Object>) fields));
        }
        position = lastId;
        name = "message";
        data = null;
    }
}
