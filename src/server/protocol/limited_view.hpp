#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <leasehold/key_set.hpp>
#include <leasehold/request.hpp>

#include "server/store/store_queue.hpp"
#include "server/tasks.hpp"

namespace leasehold::server {

// A page of the history. `next`: where the next page begins, if there are more rows.
struct PastPage {
    Outcome outcome;
    std::optional<std::int64_t> next{};
};

// Lists and histories for a client that may see only some keys. A page has as many rows as was
// asked for, unless there are no more or it is cut; rows of other keys are neither in it nor
// counted. One view serves one HTTP request, and asks the store for a bounded number of pages.
class LimitedView {
public:
    // The store's pages that one HTTP request may cost.
    static constexpr std::size_t most_pages = 100;

    // All outlive this. A page of the history is read in pieces of this number of rows. `client` is
    // the id of the client's token.
    LimitedView(StoreQueue& store, const KeySet& visible, std::size_t page_rows,
                std::string_view client)
        : store_{store}, visible_{visible}, page_rows_{page_rows}, client_{client} {}

    // The answer to a list or a history of several keys. A fault if the pages that may be read are
    // not enough.
    [[nodiscard]] Task<Outcome> ask(Request wanted);

    // Reads the visible keys one range after the other, so that the rows between them cost nothing.
    [[nodiscard]] Task<Outcome> list(List wanted);

    // Reads the latest rows of all keys, and keeps the visible ones. If the pages that may be read
    // are not enough, the page is cut, and has a `next` even if it has no row.
    [[nodiscard]] Task<PastPage> history(History wanted);

private:
    StoreQueue& store_;
    const KeySet& visible_;
    const std::size_t page_rows_;
    const std::string_view client_;
    std::size_t pages_ = 0;  // that were read
};

}  // namespace leasehold::server
