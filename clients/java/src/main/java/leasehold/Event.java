package leasehold;

import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/** Something that happened to a lease. */
public final class Event {
    private final String id;
    private final String name;
    private final Map<String, Object> data;

    Event(String id, String name, Map<String, Object> data) {
        this.id = id;
        this.name = name;
        this.data = data;
    }

    /** Give it to {@link LeaseholdClient#events(Filter, String)} to continue behind this event. */
    public String id() {
        return id;
    }

    /**
     * {@code granted}, {@code extended}, {@code released}, {@code expired}, {@code taken}, {@code broken}, {@code
     * ended}, {@code knocked} or {@code reset}. After a {@code reset}, events may be missing: read the list again.
     */
    public String name() {
        return name;
    }

    /** Empty for an event that is not about a key. */
    public Optional<Key> key() {
        Object type = data.get("type");
        Object named = data.get("id");
        return type instanceof String && named instanceof String
                ? Optional.of(Key.of((String) type, (String) named))
                : Optional.empty();
    }

    /** Of the lease; empty if the event names none. */
    public String owner() {
        return text("owner");
    }

    /** Of the lease. */
    public OptionalLong fence() {
        Object fence = data.get("fence");
        return fence instanceof Long ? OptionalLong.of((Long) fence) : OptionalLong.empty();
    }

    /** A text among the fields that the server sent, such as {@code by} or {@code message}; empty if it is missing. */
    public String text(String field) {
        Object value = data.get(field);
        return value instanceof String ? (String) value : "";
    }

    /**
     * The fields that the server sent, read as JSON: {@code String}, {@code Long}, {@code Double}, {@code Boolean},
     * {@code List}, {@code Map} and {@code null}. They cannot be changed.
     */
    public Map<String, Object> data() {
        return data;
    }

    @Override
    public String toString() {
        return name + key().map(key -> " " + key).orElse("") + (owner().isEmpty() ? "" : " " + owner());
    }
}
