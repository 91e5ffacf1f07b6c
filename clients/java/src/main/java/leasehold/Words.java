package leasehold;

import java.util.Locale;

/** The server's words for the constants of an enum: {@code LOCK_ID_IN_USE} is {@code lock_id_in_use}. */
final class Words {
    private Words() {}

    static String of(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT);
    }

    static <E extends Enum<E>> E parse(Class<E> type, String word) {
        for (E constant : type.getEnumConstants()) {
            if (of(constant).equals(word)) return constant;
        }
        throw new NotUnderstood("\"" + word + "\" is not known as " + type.getSimpleName());
    }

    static <E extends Enum<E>> E parse(Class<E> type, String word, E otherwise) {
        for (E constant : type.getEnumConstants()) {
            if (of(constant).equals(word)) return constant;
        }
        return otherwise;
    }
}
