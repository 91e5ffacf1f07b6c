#pragma once

#include <cstddef>
#include <limits>
#include <variant>
#include <vector>

#include "core/sizes.hpp"
#include "server/requests.hpp"

namespace leasehold::server {

// How large the answer to one batch may become. Once the allowance is used up, refusals only count
// their holders, and pages are replaced with a fault of effect none: the client asks for them
// again. Leases are always answered in full, because their holders must know of them.
class AnswerAllowance {
public:
    // Without a limit, for the server's own requests.
    AnswerAllowance() : AnswerAllowance{std::numeric_limits<std::size_t>::max()} {}
    explicit AnswerAllowance(std::size_t bytes) : left_{bytes} {}

    [[nodiscard]] bool is_used_up() const noexcept { return used_up_ || left_ == 0; }

    // Takes the size of the outcome from the allowance, and shortens an outcome that does not fit.
    void charge(Outcome& outcome) {
        if (auto* refusal = std::get_if<Refusal>(&outcome)) {
            if (!take(size_of_all(refusal->holders))) std::vector<Holder>{}.swap(refusal->holders);
        } else if (const auto* holders = std::get_if<HolderPage>(&outcome)) {
            if (!take(size_of_all(holders->items))) outcome = not_answered();
        } else if (const auto* history = std::get_if<HistoryPage>(&outcome)) {
            if (!take(size_of_all(history->items))) outcome = not_answered();
        }
    }

    // The outcome of a request for rows that was not sent to the store.
    [[nodiscard]] static Outcome not_answered() {
        return not_sent("the answer to this batch is full; ask for this page again");
    }

private:
    template <class Rows>
    [[nodiscard]] static std::size_t size_of_all(const Rows& rows) {
        std::size_t bytes = 0;
        for (const auto& row : rows) bytes += size_of(row);
        return bytes;
    }

    [[nodiscard]] bool take(std::size_t bytes) {
        if (bytes > left_) {
            used_up_ = true;
            return false;
        }
        left_ -= bytes;
        return true;
    }

    std::size_t left_;
    bool used_up_ = false;
};

}  // namespace leasehold::server
