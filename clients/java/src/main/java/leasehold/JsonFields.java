package leasehold;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** The fields of a JSON object. A field that is missing or of another type is {@link NotUnderstood}. */
final class JsonFields {
    private final Map<?, ?> fields;

    private JsonFields(Map<?, ?> fields) {
        this.fields = fields;
    }

    static JsonFields of(Object value) {
        if (!(value instanceof Map)) throw new NotUnderstood("an object was expected");
        return new JsonFields((Map<?, ?>) value);
    }

    boolean has(String name) {
        return fields.containsKey(name);
    }

    /** Whether the field is there, and not {@code null}. */
    boolean hasValue(String name) {
        return fields.get(name) != null;
    }

    String text(String name) {
        return required(name, String.class);
    }

    String text(String name, String otherwise) {
        return fields.get(name) instanceof String ? (String) fields.get(name) : otherwise;
    }

    long number(String name) {
        return required(name, Long.class);
    }

    double anyNumber(String name) {
        return required(name, Number.class).doubleValue();
    }

    JsonFields object(String name) {
        return of(fields.get(name));
    }

    <T> List<T> list(String name, Function<Object, T> element) {
        List<T> read = new ArrayList<>();
        for (Object one : required(name, List.class)) read.add(element.apply(one));
        return List.copyOf(read);
    }

    private <T> T required(String name, Class<T> type) {
        Object value = fields.get(name);
        if (!type.isInstance(value)) throw new NotUnderstood("\"" + name + "\" is missing or of another type");
        return type.cast(value);
    }
}
