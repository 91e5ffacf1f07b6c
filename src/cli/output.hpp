#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/fwd.hpp>

#include <leasehold/lock_manager.hpp>
#include <leasehold/request.hpp>

#include "cli/phrases.hpp"
#include "cli/subcommand.hpp"

// Prints what people and scripts read. Everything that the command prints goes through here: texts
// from a server or from other users are made harmless, so that they cannot act on a terminal or
// pretend to be another line.
namespace leasehold::cli {

// Of the environment: LC_ALL, else LC_MESSAGES, else LANG. English for a locale without UTF-8.
[[nodiscard]] Language our_language();
// The phrase in our language.
[[nodiscard]] std::string spoken(const Phrase& phrase,
                                 std::initializer_list<Filling> fillings = {});
// in_words() in our language.
[[nodiscard]] std::string spoken(Duration duration);

enum class Colour : std::uint8_t { none, bold, dim, red, green, yellow };

// Coloured where the file is a terminal and NO_COLOR is not set.
[[nodiscard]] std::string painted(std::string_view text, Colour colour, int file = 1);

// Columns of a terminal that the text takes.
[[nodiscard]] std::size_t display_width(std::string_view text);
// The text on one line, cut to that number of columns.
[[nodiscard]] std::string fitted(std::string_view text,
                                 std::size_t columns = std::numeric_limits<std::size_t>::max());

struct Cell {
    Cell(std::string content, Colour paint = Colour::none)  // NOLINT(google-explicit-constructor)
        : text{std::move(content)}, colour{paint} {}
    std::string text;
    Colour colour;
};

// Columns aligned by what a terminal shows.
class Table {
public:
    explicit Table(std::span<const Phrase> headings) {
        for (const Phrase& heading : headings) headings_.push_back(spoken(heading));
    }
    explicit Table(std::vector<std::string> headings) : headings_{std::move(headings)} {}
    void add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }

    [[nodiscard]] bool empty() const { return rows_.empty(); }
    // The headings first; no line is wider than `columns`.
    [[nodiscard]] std::vector<std::string> lines(std::size_t columns) const;
    // On standard output, at full width.
    void print() const;

private:
    std::vector<std::string> headings_;
    std::vector<std::vector<Cell>> rows_;
};

// "2026-11-15 09:25:00" in this host's time zone.
[[nodiscard]] std::string local_time(Time time);
[[nodiscard]] std::string named(const std::string& owner);

// Key, owner, mode, time left, start, fence and note of each holder.
[[nodiscard]] Table table_of(const HolderPage& holders);

// A line on standard output.
void say(std::string_view line);
// The same, painted part by part.
void say(std::initializer_list<Cell> cells);
// On standard output without any change: only for texts of this program, such as its help.
void print_as_is(std::string_view ours);
// False if standard output could not be written.
[[nodiscard]] bool flush_output();

// One line of JSON on standard output.
void print_json(const Outcome& outcome);
void print_json(const boost::json::value& value);

// The refusal in a sentence, with times as people read them.
[[nodiscard]] std::string described(const Refusal& refusal);

// The fault in a sentence: whether something was changed, what happened, and what may help.
[[nodiscard]] std::string described(const Invocation& call, const StoreFault& fault);
// What to do about a server that does not allow a request: "; LEASEHOLD_TOKEN_FILE must name ...".
[[nodiscard]] std::string advice_on_access(const Invocation& call);

// Prints the refusal, on standard error or as JSON; returns the exit code.
int refuse(const Invocation& call, const Refusal& refusal);

// "leasehold: ..." on standard error.
void complain(std::string_view text);
// The same, followed by the examples.
void complain(const WrongUsage& wrong);
// A further line on standard error.
void advise(std::string_view line);

}  // namespace leasehold::cli
