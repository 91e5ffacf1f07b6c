#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include <leasehold/store.hpp>

// The requests and answers of clients, with the times at which they asked and received the answers.
namespace leasehold::lab {

// All recorders of a machine use the same steady clock.
using Instant = SteadyClock::time_point;

struct Operation {
    std::string client{};
    Request request;
    Instant called{};
    // Empty if no answer came.
    std::optional<Instant> returned{};
    Outcome outcome{};

    // Whether it may have been carried out, or may still be: there is no answer, or the answer says
    // so.
    [[nodiscard]] bool is_unknown() const;
    // Whether it was not carried out and never will be.
    [[nodiscard]] bool is_refused() const;
};

using Operations = std::vector<Operation>;

// JSON lines: one for the request, and one for the answer.
void write_call(std::ostream& out, std::uint64_t number, const Operation& operation);
void write_return(std::ostream& out, std::uint64_t number, const Operation& operation);
// Throws BadRequest with the line's number.
[[nodiscard]] Operations read_history(std::istream& in);

}  // namespace leasehold::lab
