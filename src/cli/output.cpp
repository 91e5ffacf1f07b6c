#include "cli/output.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <clocale>
#include <cstdlib>
#include <ctime>
#include <cwchar>
#include <iostream>
#include <limits>

#include "cli/input.hpp"
#include "core/enum_table.hpp"
#include "core/text.hpp"
#include "server_url.hpp"
#include "wire/json.hpp"
#include "wire/messages.hpp"

namespace leasehold::cli {
namespace {

constexpr std::string_view gap = "  ";

bool colours_on(int file) {
    const char* const no_color = std::getenv("NO_COLOR");
    return ::isatty(file) == 1 && (no_color == nullptr || *no_color == '\0');
}

// One character of a text, and the columns it takes on a terminal.
struct Glyph {
    std::string_view bytes;
    std::size_t columns;
    bool printable;
};

Glyph first_glyph(std::string_view text) {
    static const locale_t utf8 = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    const locale_t before = ::uselocale(utf8);
    std::mbstate_t state{};
    wchar_t character = 0;
    const std::size_t size = std::mbrtowc(&character, text.data(), text.size(), &state);
    const bool decoded = size > 0 && size <= text.size();
    const int columns = decoded ? ::wcwidth(character) : -1;
    ::uselocale(before);
    const bool acts = acts_on_terminal(static_cast<char32_t>(character));
    if (!decoded || columns < 0 || acts) return {text.substr(0, decoded ? size : 1), 1, false};
    return {text.substr(0, size), static_cast<std::size_t>(columns), true};
}

Cell time_left(Time until, Time store_now) {
    if (until == never) return {spoken(phrases::until_released), Colour::dim};
    const Duration left = until - store_now;
    if (left <= Duration::zero()) return {spoken(phrases::has_ended), Colour::dim};
    using namespace std::chrono_literals;
    return {spoken(std::max(std::chrono::floor<std::chrono::seconds>(left), 1s)),
            left < 10s ? Colour::yellow : Colour::none};
}

// "ko_KR.UTF-8": a language, a territory and a character set.
Language language_of_locale(std::string_view name) {
    const std::size_t dot = name.find('.');
    if (dot != std::string_view::npos) {
        const std::string charset = lower(name.substr(dot + 1, name.find('@', dot) - dot - 1));
        if (charset != "utf-8" && charset != "utf8") return Language::english;
    }
    return language_of(name.substr(0, name.find_first_of("_.@")));
}

}  // namespace

Language our_language() {
    static const Language language = [] {
        for (const char* const variable : {"LC_ALL", "LC_MESSAGES", "LANG"}) {
            const char* const locale = std::getenv(variable);
            if (locale != nullptr && *locale != '\0') return language_of_locale(locale);
        }
        return Language::english;
    }();
    return language;
}

std::string spoken(const Phrase& phrase, std::initializer_list<Filling> fillings) {
    return phrase.in(our_language(), fillings);
}

std::string spoken(Duration duration) {
    return in_words(duration, our_language());
}

std::string painted(std::string_view text, Colour colour, int file) {
    if (colour == Colour::none || !colours_on(file)) return std::string{text};
    using enum Colour;
    static constexpr EnumTable<Colour, std::string_view> codes{
        {{none, ""}, {bold, "1"}, {dim, "2"}, {red, "31"}, {green, "32"}, {yellow, "33"}}};
    std::string result{"\x1b["};
    return result.append(codes[colour]).append("m").append(text).append("\x1b[0m");
}

std::size_t display_width(std::string_view text) {
    std::size_t columns = 0;
    while (!text.empty()) {
        const Glyph glyph = first_glyph(text);
        columns += glyph.columns;
        text.remove_prefix(glyph.bytes.size());
    }
    return columns;
}

std::string fitted(std::string_view text, std::size_t columns) {
    const bool cut = display_width(text) > columns;
    std::size_t room = cut && columns > 0 ? columns - 1 : columns;
    std::string result;
    while (!text.empty()) {
        const Glyph glyph = first_glyph(text);
        if (glyph.columns > room) break;
        room -= glyph.columns;
        if (glyph.printable)
            result += glyph.bytes;
        else
            result += ' ';
        text.remove_prefix(glyph.bytes.size());
    }
    if (cut && columns > 0) result += "…";
    return result;
}

namespace {

// Narrows the widest columns until the table fits, but not below a legible width: one long key must
// not hide the owners of the others.
void share_out(std::vector<std::size_t>& widths, std::size_t columns) {
    constexpr std::size_t legible = 20;
    std::size_t wanted = gap.size() * (widths.size() - 1);
    for (const std::size_t width : widths) wanted += width;
    for (; wanted > columns; --wanted) {
        const auto widest = std::ranges::max_element(widths);
        if (*widest <= legible) return;
        --*widest;
    }
}

}  // namespace

std::vector<std::string> Table::lines(std::size_t columns) const {
    std::vector<std::size_t> widths;
    for (const std::string& heading : headings_) widths.push_back(display_width(heading));
    for (const auto& row : rows_) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], display_width(row[i].text));
        }
    }
    share_out(widths, columns);
    const auto line_of = [&](const auto& row, const auto& text_of, const auto& colour_of) {
        std::string line;
        std::size_t room = columns;
        for (std::size_t i = 0; i < row.size() && room > 0; ++i) {
            const std::size_t width = std::min(widths[i], room);
            const std::string text = fitted(text_of(row[i]), width);
            line += painted(text, colour_of(row[i]));
            room -= width;
            if (i + 1 == row.size() || room <= gap.size()) break;
            line.append(width - display_width(text), ' ').append(gap);
            room -= gap.size();
        }
        return line;
    };
    std::vector<std::string> lines{line_of(
        headings_, [](const std::string& text) { return text; },
        [](const std::string&) { return Colour::bold; })};
    for (const auto& row : rows_) {
        lines.push_back(line_of(
            row, [](const Cell& cell) { return cell.text; },
            [](const Cell& cell) { return cell.colour; }));
    }
    return lines;
}

void Table::print() const {
    for (const std::string& line : lines(std::numeric_limits<std::size_t>::max())) {
        print_as_is(line + '\n');
    }
}

std::string local_time(Time time) {
    if (time == never) return "never";
    const std::time_t seconds = std::chrono::system_clock::to_time_t(
        std::chrono::floor<std::chrono::system_clock::duration>(time));
    std::tm parts{};
    ::localtime_r(&seconds, &parts);
    std::array<char, 64> text{};
    const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts);
    return {text.data(), size};
}

std::string named(const std::string& owner) {
    return owner.empty() ? spoken(phrases::somebody) : owner;
}

Table table_of(const HolderPage& holders) {
    Table table{phrases::holder_headings};
    for (const Holder& holder : holders) {
        table.add({holder.key.to_string(), named(holder.owner), spoken(phrases::modes[holder.mode]),
                   time_left(holder.expires_at, holders.store_now), local_time(holder.granted_at),
                   std::to_string(holder.fence), holder.note});
    }
    return table;
}

void print_json(const boost::json::value& value) {
    print_as_is(harmless_json(wire::print(value)) + '\n');
}

void print_json(const Outcome& outcome) {
    print_json(wire::to_json(outcome));
}

int refuse(const Invocation& call, const Refusal& refusal) {
    if (call.json) {
        print_json(refusal);
        return refused;
    }
    complain(described(refusal));
    return refused;
}

std::string described(const Refusal& refusal) {
    if (refusal.kind != Refusal::Kind::held || refusal.holders.empty()) {
        return refusal.message(our_language());
    }
    std::string text;
    for (const Holder& holder : refusal.holders) {
        if (!text.empty()) text += "; ";
        std::string left = time_left(holder.expires_at, refusal.store_now).text;
        if (holder.expires_at != never) left = spoken(phrases::left, {{"time", left}});
        std::string note;
        if (!holder.note.empty()) note = spoken(phrases::with_note, {{"note", holder.note}});
        text += spoken(holder.mode == Mode::shared ? phrases::shared : phrases::held,
                       {{"key", holder.key.to_string()},
                        {"owner", named(holder.owner)},
                        {"since", local_time(holder.granted_at)},
                        {"left", left},
                        {"note", note}});
    }
    if (refusal.holders_in_all > refusal.holders.size()) {
        const std::size_t others = refusal.holders_in_all - refusal.holders.size();
        text += spoken(others == 1 ? phrases::and_one_other : phrases::and_others,
                       {{"count", std::to_string(others)}});
    }
    return text;
}

std::string advice_on_access(const Invocation& call) {
    const std::string source = token_source(StoreUrl::parse(named_store(call), {}));
    if (source.empty()) return spoken(phrases::token_missing);
    std::string advice = spoken(phrases::token_from, {{"source", source}});
    if (call.asks_as_user) advice += spoken(phrases::name_the_owner, {{"owner", who_we_are()}});
    return advice;
}

std::string described(const Invocation& call, const StoreFault& fault) {
    std::string text = fault.what();
    if (fault.effect() == StoreFault::Effect::unknown)
        text = spoken(phrases::unknown_effect, {{"fault", text}});
    else if (call.effect == Effect::changes)
        text = spoken(phrases::nothing_changed, {{"fault", text}});
    if (fault.cause() == StoreFault::Cause::not_allowed) text += advice_on_access(call);
    return text;
}

void say(std::string_view line) {
    print_as_is(harmless(line) + '\n');
}

void say(std::initializer_list<Cell> cells) {
    std::string line;
    for (const Cell& cell : cells) line += painted(harmless(cell.text), cell.colour);
    print_as_is(line + '\n');
}

void print_as_is(std::string_view ours) {
    std::cout << ours;
}

bool flush_output() {
    std::cout.flush();
    return static_cast<bool>(std::cout);
}

void complain(std::string_view text) {
    std::cerr << painted("leasehold:", Colour::bold, STDERR_FILENO) << ' ' << harmless(text)
              << '\n';
}

void complain(const WrongUsage& wrong) {
    complain(wrong.what());
    for (const std::string& example : wrong.examples()) advise("  " + example);
}

void advise(std::string_view line) {
    std::cerr << harmless(line) << '\n';
}

}  // namespace leasehold::cli
