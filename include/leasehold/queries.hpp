#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <leasehold/lease.hpp>
#include <leasehold/lock_key.hpp>
#include <leasehold/time.hpp>

// The questions about leases: who holds what, and what has ended.
namespace leasehold {

enum class OwnerScope : std::uint8_t {
    exact,  // this owner
    below,  // this owner and every owner whose path begins with it: "alice" covers "alice/tab-2"
};

// Asks for live leases, in the order of their keys, page by page.
struct List {
    std::optional<std::string> type{};
    std::optional<std::string> owner{};
    OwnerScope scope = OwnerScope::exact;
    std::optional<Holder> after{};  // Page::last() of the previous page
    std::size_t limit = 100;
};

// Asks for leases that have ended, the latest first, page by page. If `key` is given, the page
// begins with leases that have expired and that nobody has taken over or swept yet.
struct History {
    std::optional<LockKey> key{};
    std::optional<std::int64_t> before{};  // the sequence of Page::last() of the previous page
    std::size_t limit = 100;
};

// One page of an answer, and the store's clock when the store read it. A page is a range:
//   for (const Holder& holder : locks.holders(key)) ...
// To read all pages, ask again behind last() while may_continue(), also after an empty page.
template <class T>
struct Page {
    std::vector<T> items{};
    Time store_now{};
    // The page ended before its limit, because it would have exceeded Limits::page_bytes, or
    // because the store had looked through Limits::rows_looked_through rows.
    bool cut = false;
    // The place up to which the store looked, if that is behind the last item: of a Holder, its key
    // and fence count; of a PastLease, its sequence.
    std::optional<T> looked_up_to{};

    // Whether there may be another page behind this one, which was asked for with this limit.
    [[nodiscard]] bool may_continue(std::size_t limit) const noexcept {
        return cut || items.size() >= limit;
    }

    // The place behind which the next page begins, if it may_continue().
    [[nodiscard]] const T& last() const { return looked_up_to ? *looked_up_to : items.back(); }

    [[nodiscard]] bool empty() const noexcept { return items.empty(); }
    [[nodiscard]] std::size_t size() const noexcept { return items.size(); }
    [[nodiscard]] const T& operator[](std::size_t index) const { return items[index]; }
    [[nodiscard]] const T& front() const { return items.front(); }
    [[nodiscard]] const T& back() const { return items.back(); }
    [[nodiscard]] auto begin() const noexcept { return items.begin(); }
    [[nodiscard]] auto end() const noexcept { return items.end(); }
};

using HolderPage = Page<Holder>;
using HistoryPage = Page<PastLease>;

}  // namespace leasehold
