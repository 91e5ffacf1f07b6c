#include "server/protocol/limited_view.hpp"

#include <algorithm>
#include <utility>

#include "core/sizes.hpp"

namespace leasehold::server {
namespace {

StoreFault too_few_rows() {
    return not_sent(
        "the rows that this token may see are too far apart: ask for the history of one key, or "
        "for one page alone, or send fewer requests together");
}

// A place in the list before all rows of the key.
Holder before(LockKey key) {
    return {.key = std::move(key)};
}

}  // namespace

Task<Outcome> LimitedView::ask(Request wanted) {
    if (auto* const rows = std::get_if<List>(&wanted)) {
        Outcome outcome = co_await list(std::move(*rows));
        co_return outcome;
    }
    PastPage page = co_await history(std::move(std::get<History>(wanted)));
    const auto* const rows = std::get_if<HistoryPage>(&page.outcome);
    // The client continues behind the last row: there must be one.
    if (rows != nullptr && rows->cut && rows->empty()) page.outcome = too_few_rows();
    co_return std::move(page.outcome);
}

Task<Outcome> LimitedView::list(List wanted) {
    HolderPage found;
    std::size_t bytes = 0;
    const std::size_t limit = wanted.limit;
    for (const KeyPattern& range : visible_.patterns()) {
        if (wanted.type && !range.has_keys_of(*wanted.type)) continue;
        if (wanted.after && range.ends_before(wanted.after->key)) continue;
        if (!wanted.after || wanted.after->key < range.first())
            wanted.after = before(range.first());
        if (pages_++ == most_pages) co_return too_few_rows();
        wanted.limit = limit - found.size();
        Request question = wanted;
        Outcome outcome = co_await store_.ask(std::move(question), Recipient::client, client_);
        auto* const rows = std::get_if<HolderPage>(&outcome);
        if (rows == nullptr) co_return outcome;
        found.store_now = rows->store_now;
        const bool more = rows->may_continue(wanted.limit);
        bool ended = false;  // the range, before the last of these rows
        for (Holder& row : rows->items) {
            ended = !range.matches(row.key);
            if (ended) break;
            bytes += size_of(row);
            found.items.push_back(std::move(row));
        }
        if (found.size() == limit) co_return found;
        // If there are no rows after these, the ranges that follow are empty.
        if (!ended && !more) co_return found;
        // The store may have looked further than this range.
        ended = ended || (rows->looked_up_to && !range.matches(rows->looked_up_to->key));
        found.cut = !ended || bytes >= Limits::page_bytes;
        if (!ended) found.looked_up_to = std::move(rows->looked_up_to);
        if (found.cut) co_return found;
    }
    if (found.store_now == Time{}) {
        // No range was read. The answer needs the store's time.
        const auto time = co_await store_.store_time(client_);
        if (!time) co_return time.error();
        found.store_now = *time;
    }
    co_return found;
}

Task<PastPage> LimitedView::history(History wanted) {
    HistoryPage found;
    std::size_t bytes = 0;
    const std::size_t limit = std::exchange(wanted.limit, page_rows_);
    const auto is_full = [&] { return found.size() == limit || bytes >= Limits::page_bytes; };
    std::optional<std::int64_t> next;
    for (bool more = true; more && !is_full();) {
        if (pages_++ == most_pages) {
            if (!next) co_return PastPage{too_few_rows()};
            break;
        }
        Request question = wanted;
        Outcome outcome = co_await store_.ask(std::move(question), Recipient::client, client_);
        auto* const rows = std::get_if<HistoryPage>(&outcome);
        if (rows == nullptr) co_return PastPage{std::move(outcome)};
        found.store_now = rows->store_now;
        more = rows->may_continue(wanted.limit);
        for (PastLease& row : rows->items) {
            next = wanted.before = row.sequence;
            if (!visible_.has(row.lease.key)) continue;
            bytes += size_of(row);
            found.items.push_back(std::move(row));
            if (is_full()) break;
        }
        if (!is_full() && rows->looked_up_to) next = wanted.before = rows->looked_up_to->sequence;
        if (!more && !is_full()) next.reset();
    }
    found.cut = next && found.size() < limit;
    PastPage page{.outcome = std::move(found), .next = next};
    co_return page;
}

}  // namespace leasehold::server
