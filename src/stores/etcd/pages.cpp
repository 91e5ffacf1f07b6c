#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <ranges>
#include <span>
#include <utility>

#include "core/columns.hpp"
#include "stores/etcd/batch_runner.hpp"

// Requests that are answered page by page.
namespace leasehold::etcd {
namespace {

using Effect = StoreFault::Effect;

constexpr std::size_t pairs_of_a_page = 1000;
constexpr std::size_t pairs_at_once = 300;

// More leases than one transaction ends.
constexpr std::int64_t sequences_of_a_moment = 10'000;
constexpr std::int64_t no_sequence = std::numeric_limits<std::int64_t>::max();

// The record of an ended lease, for housekeeping, which does not stop at an unreadable one.
std::optional<EndedRecord> readable_ended(const KeyValue& pair) {
    try {
        return ended_from(pair.value);
    } catch (const UnreadableRow&) {
        return std::nullopt;
    }
}

// The range after the last key of a page.
void go_on(KeyRange& range, const Page& page) {
    range.first = page.pairs.back().key + '\0';
}

}  // namespace

std::vector<CellStore::Candidate> BatchRunner::scan(const std::optional<LockKey>& after,
                                                    std::size_t limit, Time moment) {
    std::vector<Candidate> candidates;
    KeyRange rest = names_.rows(std::nullopt, after);
    for (bool more = true; more && candidates.size() < limit;) {
        Revision revision = 0;
        const Page page = range(rest, pairs_of_a_page, &revision);
        more = page.more;
        if (more) go_on(rest, page);
        for (KeyAndRow& row : rows_in(page, Unreadable::skip)) {
            if (candidates.size() == limit) break;
            const bool dead = row.known.row.expires_at <= moment;
            candidates.push_back({row.key, dead});
            // Leave out a key whose shares may continue on the next page.
            row.known.known_at = revision;
            if (dead && row.known.row.mode == Mode::exclusive) {
                shared_.rows.learn(row.key, std::move(row.known));
            }
        }
    }
    return candidates;
}

std::vector<BatchRunner::KeyAndRow> BatchRunner::rows_of(std::span<const LockKey> keys) {
    Txn txn;
    for (const LockKey& key : keys) txn.read(names_.row_and_shares(key));
    std::vector<KeyAndRow> rows;
    for (const Page& page : send(txn, Effect::none).reads) {
        for (KeyAndRow& row : rows_in(page, Unreadable::refuse)) rows.push_back(std::move(row));
    }
    return rows;
}

std::optional<KeyPlace> BatchRunner::place_behind(const KeyPlace& place, std::size_t rows) {
    KeyRange rest = names_.rows(std::nullopt, std::nullopt);
    if (!place.id.empty()) {
        rest = names_.rows(std::nullopt, LockKey{place.type, place.id});
    } else if (!place.type.empty()) {
        rest = names_.rows(place.type, std::nullopt);
    }
    const Page page = range(rest, rows);
    if (!page.more) return std::nullopt;
    const auto last = names_.part_of(page.pairs.back().key);
    if (!last) return std::nullopt;
    return KeyPlace{std::string{last->key.type()}, std::string{last->key.id()}};
}

std::vector<Holder> BatchRunner::list(const List& request, Time now, const KeyPlace& until) {
    for (;;) {
        const Time clock = shared_.clock.latest().time;
        Time dead{};
        std::vector<Holder> holders = list_once(request, now, until, dead);
        if (dead <= clock) return holders;
        if (dead <= shared_.clock.latest().time) continue;
        // No process may later find a lease alive that is missing here.
        Txn txn;
        const Time written = raise_clock(txn, dead);
        (void)send(txn, Effect::none, written);
    }
}

std::vector<Holder> BatchRunner::list_once(const List& request, Time now, const KeyPlace& until,
                                           Time& dead) {
    std::vector<Holder> holders;
    const auto is_behind = [&](const LockKey& key) {
        return std::pair{key.type(), key.id()} >
               std::pair<std::string_view, std::string_view>{until.type, until.id};
    };
    const auto take = [&](const KeyAndRow& row) {
        if (is_behind(row.key)) return;
        std::vector<Grant> grants = cell_of(row.known.row, row.known.shares).grants;
        for (const Grant& grant : grants) {
            if (grant.expires_at <= now) {
                dead = std::max(dead, grant.expires_at);
                continue;
            }
            if (request.owner && !owner_matches(grant.owner, *request.owner, request.scope)) {
                continue;
            }
            if (request.after && row.key == request.after->key &&
                grant.fence <= request.after->fence) {
                continue;
            }
            if (holders.size() < request.limit) holders.push_back(to_holder(row.key, grant));
        }
    };
    // The last key may have more holders.
    if (request.after && (!request.type || request.after->key.type() == *request.type)) {
        for (const KeyAndRow& row : rows_of({&request.after->key, 1})) take(row);
    }
    const auto after = request.after ? std::optional{request.after->key} : std::nullopt;
    KeyRange rest = names_.rows(request.type, after);
    for (bool more = true; more && holders.size() < request.limit;) {
        Page page = range(rest, pairs_of_a_page);
        more = page.more;
        if (more) {
            // The shares of the last key may continue on the next page: that page begins with this
            // key.
            const auto last = names_.part_of(page.pairs.back().key);
            more = !last || !is_behind(last->key);
            const auto begins = std::ranges::find_if(page.pairs, [&](const KeyValue& pair) {
                return last && pair.key == names_.row(last->key);
            });
            if (begins != page.pairs.end() && begins != page.pairs.begin()) {
                rest.first = begins->key;
                page.pairs.erase(begins, page.pairs.end());
            } else {
                go_on(rest, page);
            }
        }
        for (const KeyAndRow& row : rows_in(page, Unreadable::refuse)) take(row);
    }
    return holders;
}

// The number of an ended lease is etcd's revision of its end, which is unknown until it is written.
std::int64_t BatchRunner::sequence_of(const KeyValue& ended, const EndedRecord& record) {
    return ended.changed * sequences_of_a_moment + record.order;
}

void BatchRunner::number_what_ended() {
    for (bool more = true; more;) {
        const Page page = range(names_.all_ended(), pairs_at_once);
        more = page.more;
        if (page.pairs.empty()) return;
        Txn txn;
        for (const KeyValue& pair : page.pairs) {
            txn.erase(pair.key);
            const auto record = readable_ended(pair);
            if (!record) continue;
            const std::int64_t sequence = sequence_of(pair, *record);
            txn.put(names_.past(sequence), pair.value);
            txn.put(names_.past_of(record->ended.key, sequence), {});
        }
        (void)send(txn, Effect::none);
    }
}

std::vector<PastLease> BatchRunner::history(const History& request) {
    const std::int64_t before = request.before.value_or(no_sequence);
    std::vector<PastLease> pasts;
    const auto take = [&](const Ended& ended, std::int64_t sequence) {
        if (sequence >= before) return;
        if (request.key && *request.key != ended.key) return;
        pasts.push_back(to_past(ended, sequence));
    };
    // First the leases without a number: one that gets its number in the meantime is seen twice,
    // not missed.
    KeyRange rest = names_.all_ended();
    for (bool more = true; more;) {
        const Page page = range(rest, pairs_of_a_page);
        more = page.more;
        if (more) go_on(rest, page);
        for (const KeyValue& pair : page.pairs) {
            const EndedRecord record = ended_from(pair.value);
            take(record.ended, sequence_of(pair, record));
        }
    }
    const std::size_t enough = pasts.size() + request.limit;
    const auto take_page = [&](const Page& page) {
        for (const KeyValue& pair : page.pairs | std::views::reverse) {
            if (pasts.size() == enough) return;
            take(ended_from(pair.value).ended, Names::sequence_of(pair.key));
        }
    };
    if (request.key) {
        std::vector<KeyValue> names = range(names_.pasts_of(*request.key, before), 0).pairs;
        while (!names.empty() && pasts.size() < enough) {
            const std::size_t some = std::min(names.size(), pairs_at_once);
            take_page(numbered(std::span{names}.last(some)));
            names.resize(names.size() - some);
        }
    } else {
        Revision revision = 0;
        const Page first = range(names_.pasts(0, no_sequence), 1, &revision);
        const std::int64_t end =
            first.pairs.empty() ? no_sequence : Names::sequence_of(first.pairs.front().key);
        // Go back in ever wider steps: other keys of etcd use revisions, too.
        std::int64_t to = std::min(before, (revision + 1) * sequences_of_a_moment);
        auto width = static_cast<std::int64_t>(request.limit + 1) * sequences_of_a_moment;
        for (; to > end && pasts.size() < enough; width *= 2) {
            const std::int64_t from = std::max(end, to - width);
            take_page(range(names_.pasts(from, to), 0));
            to = from;
        }
    }
    std::ranges::sort(pasts, std::greater<>{}, &PastLease::sequence);
    const auto twice = std::ranges::unique(pasts, {}, &PastLease::sequence);
    pasts.erase(twice.begin(), twice.end());
    if (pasts.size() > request.limit) {
        pasts.erase(pasts.begin() + static_cast<std::ptrdiff_t>(request.limit), pasts.end());
    }
    return pasts;
}

Page BatchRunner::numbered(std::span<const KeyValue> pasts_of_a_key) {
    Txn txn;
    for (const KeyValue& name : pasts_of_a_key) {
        txn.read({names_.past(Names::sequence_of(name.key))});
    }
    Page page;
    for (Page& one : send(txn, Effect::none).reads) {
        std::ranges::move(one.pairs, std::back_inserter(page.pairs));
    }
    return page;
}

std::size_t BatchRunner::forget_history(Time before, std::size_t limit) {
    number_what_ended();
    const Page page = range(names_.pasts(0, no_sequence), limit);
    std::size_t forgotten = 0;
    Txn leases;
    Txn txn;
    for (const KeyValue& pair : page.pairs) {
        const auto record = readable_ended(pair);
        if (record && record->ended.ending->at >= before) continue;
        ++forgotten;
        txn.erase(pair.key);
        if (!record) continue;
        txn.erase(names_.past_of(record->ended.key, Names::sequence_of(pair.key)));
        leases.read({names_.lease(record->ended.ending->grant.lock_id)});
    }
    if (forgotten == 0) return 0;
    // A lock id may have ended again, on another key.
    for (const Page& lease : send(leases, Effect::none).reads) {
        if (lease.pairs.empty()) continue;
        const auto record = readable_ended(lease.pairs.front());
        if (!record || record->ended.ending->at < before) txn.erase(lease.pairs.front().key);
    }
    (void)send(txn, Effect::none);
    return forgotten;
}

}  // namespace leasehold::etcd
