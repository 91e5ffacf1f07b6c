#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include <leasehold/store.hpp>

// What clients asked and what they were told, with the times at which they asked and heard.
namespace leasehold::lab {

// On one steady clock for all recorders of a machine.
using Instant = SteadyClock::time_point;

struct Operation {
    std::string client{};
    Request request;
    Instant called{};
    // Nothing where no answer came.
    std::optional<Instant> returned{};
    Outcome outcome{};

    // Whether it may have been carried out, now or later: no answer came, or one that says so.
    [[nodiscard]] bool is_unknown() const;
    // Whether it was not carried out, and never will be.
    [[nodiscard]] bool is_refused() const;
};

using Operations = std::vector<Operation>;

// JSON lines: one when it is asked, one when the answer has come.
void write_call(std::ostream& out, std::uint64_t number, const Operation& operation);
void write_return(std::ostream& out, std::uint64_t number, const Operation& operation);
// Throws BadRequest with the line's number.
[[nodiscard]] Operations read_history(std::istream& in);

}  // namespace leasehold::lab
