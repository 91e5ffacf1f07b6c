package leasehold;

import java.util.LinkedHashMap;
import java.util.Map;

/** Which leases to list, or which events to follow. Each method returns a new filter and leaves this one as it is. */
public final class Filter {
    private static final Filter ALL = new Filter(Map.of());

    private final Map<String, String> parameters; // as they are sent

    private Filter(Map<String, String> parameters) {
        this.parameters = parameters;
    }

    public static Filter all() {
        return ALL;
    }

    /** Only keys of this type. */
    public Filter type(String type) {
        return with("type", type);
    }

    /** Only this key. For events; {@link LeaseholdClient#holders(Key)} lists the holders of one key. */
    public Filter key(Key key) {
        return with("type", key.type()).with("id", key.id());
    }

    /** Only leases of this owner. */
    public Filter owner(String owner) {
        return owner(owner, OwnerScope.EXACT);
    }

    public Filter owner(String owner, OwnerScope scope) {
        Filter named = with("owner", owner);
        return scope == OwnerScope.EXACT ? named : named.with("scope", Words.of(scope));
    }

    /** Only leases with this text in the key, the owner or the note. For lists. */
    public Filter containing(String text) {
        return with("contains", text);
    }

    /** How many leases to ask the server for at once. For lists. */
    public Filter pageRows(int rows) {
        return with("limit", Integer.toString(rows));
    }

    Map<String, String> parameters() {
        return parameters;
    }

    private Filter with(String name, String value) {
        Map<String, String> changed = new LinkedHashMap<>(parameters);
        changed.put(name, value);
        return new Filter(changed);
    }
}
