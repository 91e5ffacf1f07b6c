package leasehold;

import java.util.Objects;

/** What is locked: a type and an id, such as {@code Order} and {@code 1}. */
public final class Key implements Comparable<Key> {
    private final String type;
    private final String id;

    private Key(String type, String id) {
        this.type = Objects.requireNonNull(type, "type");
        this.id = Objects.requireNonNull(id, "id");
    }

    /** Both may contain slashes, spaces and letters of any language. */
    public static Key of(String type, String id) {
        return new Key(type, id);
    }

    /**
     * {@code "Order/1"} is the type {@code Order} and the id {@code 1}. A name without a slash has the type {@code
     * dist_lock}, as for the {@code leasehold} command.
     */
    public static Key parse(String text) {
        int slash = text.indexOf('/');
        return slash < 0
                ? new Key("dist_lock", text)
                : new Key(text.substring(0, slash), text.substring(slash + 1));
    }

    public String type() {
        return type;
    }

    public String id() {
        return id;
    }

    @Override
    public int compareTo(Key other) {
        int byType = type.compareTo(other.type);
        return byType != 0 ? byType : id.compareTo(other.id);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Key && type.equals(((Key) other).type) && id.equals(((Key) other).id);
    }

    @Override
    public int hashCode() {
        return 31 * type.hashCode() + id.hashCode();
    }

    @Override
    public String toString() {
        return type + "/" + id;
    }
}
