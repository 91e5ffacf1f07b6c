package leasehold;

import java.util.regex.Pattern;

/** Texts from outside on one line of a terminal. */
final class OneLine {
    // Control characters, and characters that break lines, change the direction of writing or stay invisible.
    private static final Pattern ACTS_ON_TERMINAL = Pattern.compile(
            "[\\x00-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb"
                    + "\\x{e0000}-\\x{e0fff}\\x{f0000}-\\x{10ffff}]");

    private OneLine() {}

    /** The text with a space for each character that acts on a terminal. */
    static String of(String text) {
        return text == null ? null : ACTS_ON_TERMINAL.matcher(text).replaceAll(" ");
    }
}
