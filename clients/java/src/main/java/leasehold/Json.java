package leasehold;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Reads and writes JSON (RFC 8259). Values are {@code Map}, {@code List}, {@code String}, {@code Long}, {@code Double},
 * {@code Boolean} and {@code null}; a number is a {@code Long} if it is written without a fraction and fits.
 *
 * <p>Strict: names that are repeated, text that is not UTF-8, halves of surrogate pairs, and anything behind the value
 * are errors.
 */
final class Json {
    private static final int DEEPEST = 64;

    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    /** Throws {@link NotUnderstood}. What it returns cannot be changed. */
    static Object parse(byte[] utf8) {
        try {
            return parse(StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(utf8)).toString());
        } catch (CharacterCodingException wrong) {
            throw new NotUnderstood("it is not UTF-8");
        }
    }

    static Object parse(String text) {
        Json reader = new Json(text);
        Object value = reader.value(0);
        reader.skipSpace();
        if (reader.at < text.length()) throw reader.wrong("something behind the value");
        return value;
    }

    /** Throws {@link BadRequestException} for a text that cannot be written in UTF-8. */
    static byte[] print(Object value) {
        StringBuilder out = new StringBuilder();
        print(value, out);
        return utf8(out);
    }

    static byte[] utf8(CharSequence text) {
        try {
            ByteBuffer bytes = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text));
            byte[] copy = new byte[bytes.remaining()];
            bytes.get(copy);
            return copy;
        } catch (CharacterCodingException wrong) {
            throw new BadRequestException("a text has half of a surrogate pair and cannot be written in UTF-8");
        }
    }

    // Writing

    private static void print(Object value, StringBuilder out) {
        if (value instanceof Map) {
            char before = '{';
            for (Map.Entry<?, ?> field : ((Map<?, ?>) value).entrySet()) {
                out.append(before);
                print((String) field.getKey(), out);
                out.append(':');
                print(field.getValue(), out);
                before = ',';
            }
            out.append(before == '{' ? "{}" : "}");
        } else if (value instanceof Iterable) {
            char before = '[';
            for (Object element : (Iterable<?>) value) {
                out.append(before);
                print(element, out);
                before = ',';
            }
            out.append(before == '[' ? "[]" : "]");
        } else if (value instanceof String) {
            print((String) value, out);
        } else if (value == null || value instanceof Long || value instanceof Integer || value instanceof Boolean) {
            out.append(value);
        } else {
            throw new IllegalArgumentException("no JSON for " + value.getClass());
        }
    }

    private static void print(String text, StringBuilder out) {
        out.append('"');
        for (int i = 0; i < text.length(); ++i) {
            char letter = text.charAt(i);
            if (letter == '"' || letter == '\\') {
                out.append('\\').append(letter);
            } else if (letter < ' ' || letter == '\u007f') {
                out.append(String.format("\\u%04x", (int) letter));
            } else {
                out.append(letter);
            }
        }
        out.append('"');
    }

    // Reading

    private Object value(int depth) {
        if (depth > DEEPEST) throw wrong("it is nested too deeply");
        skipSpace();
        switch (peek()) {
            case '{':
                return object(depth);
            case '[':
                return array(depth);
            case '"':
                return string();
            case 't':
                return word("true", true);
            case 'f':
                return word("false", false);
            case 'n':
                return word("null", null);
            default:
                return number();
        }
    }

    private Map<String, Object> object(int depth) {
        Map<String, Object> fields = new LinkedHashMap<>();
        ++at;
        skipSpace();
        if (peek() == '}') {
            ++at;
            return Collections.unmodifiableMap(fields);
        }
        while (true) {
            skipSpace();
            if (peek() != '"') throw wrong("a name was expected");
            String name = string();
            skipSpace();
            expect(':');
            if (fields.containsKey(name)) throw wrong("the name \"" + name + "\" is repeated");
            fields.put(name, value(depth + 1));
            skipSpace();
            if (peek() == '}') break;
            expect(',');
        }
        ++at;
        return Collections.unmodifiableMap(fields);
    }

    private List<Object> array(int depth) {
        List<Object> elements = new ArrayList<>();
        ++at;
        skipSpace();
        if (peek() == ']') {
            ++at;
            return Collections.unmodifiableList(elements);
        }
        while (true) {
            elements.add(value(depth + 1));
            skipSpace();
            if (peek() == ']') break;
            expect(',');
        }
        ++at;
        return Collections.unmodifiableList(elements);
    }

    private String string() {
        int begin = ++at;
        while (peek() != '"' && peek() != '\\') control();
        if (peek() == '"') return text.substring(begin, at++); // most texts need no more
        StringBuilder out = new StringBuilder().append(text, begin, at);
        while (peek() != '"') {
            if (peek() == '\\') {
                ++at;
                out.append(escaped());
            } else {
                out.append(peek());
                control();
            }
        }
        ++at;
        for (int i = 0; i < out.length(); ++i) {
            boolean high = Character.isHighSurrogate(out.charAt(i));
            if (high && i + 1 < out.length() && Character.isLowSurrogate(out.charAt(i + 1))) {
                ++i;
            } else if (Character.isSurrogate(out.charAt(i))) {
                throw wrong("half of a surrogate pair");
            }
        }
        return out.toString();
    }

    private void control() {
        if (peek() < ' ') throw wrong("a control character in a text");
        ++at;
    }

    private char escaped() {
        char letter = peek();
        ++at;
        switch (letter) {
            case '"':
            case '\\':
            case '/':
                return letter;
            case 'b':
                return '\b';
            case 'f':
                return '\f';
            case 'n':
                return '\n';
            case 'r':
                return '\r';
            case 't':
                return '\t';
            case 'u':
                int code = 0;
                for (int i = 0; i < 4; ++i, ++at) {
                    int digit = peek() < 128 ? Character.digit(peek(), 16) : -1;
                    if (digit < 0) throw wrong("four hexadecimal digits were expected");
                    code = 16 * code + digit;
                }
                return (char) code;
            default:
                throw wrong("an unknown escape");
        }
    }

    private Object number() {
        int begin = at;
        if (has('-')) ++at;
        if (has('0')) {
            ++at;
        } else {
            digits();
        }
        boolean whole = true;
        if (has('.')) {
            whole = false;
            ++at;
            digits();
        }
        if (has('e') || has('E')) {
            whole = false;
            ++at;
            if (has('+') || has('-')) ++at;
            digits();
        }
        String number = text.substring(begin, at);
        if (whole) {
            try {
                return Long.valueOf(number);
            } catch (NumberFormatException tooLarge) {
                // a Double then
            }
        }
        double value = Double.parseDouble(number);
        if (Double.isInfinite(value)) throw wrong("the number " + number + " is too large");
        return value;
    }

    private void digits() {
        int begin = at;
        while (at < text.length() && text.charAt(at) >= '0' && text.charAt(at) <= '9') ++at;
        if (at == begin) throw wrong("a value was expected");
    }

    private Object word(String word, Object value) {
        if (!text.startsWith(word, at)) throw wrong("a value was expected");
        at += word.length();
        return value;
    }

    private void skipSpace() {
        while (has(' ') || has('\n') || has('\r') || has('\t')) ++at;
    }

    private boolean has(char letter) {
        return at < text.length() && text.charAt(at) == letter;
    }

    private char peek() {
        if (at >= text.length()) throw wrong("it ends in the middle");
        return text.charAt(at);
    }

    private void expect(char letter) {
        if (peek() != letter) throw wrong("'" + letter + "' was expected");
        ++at;
    }

    private NotUnderstood wrong(String what) {
        return new NotUnderstood("it is not JSON: " + what + ", at " + at);
    }
}
