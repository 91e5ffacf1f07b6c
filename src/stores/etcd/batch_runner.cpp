#include "stores/etcd/batch_runner.hpp"

#include <boost/json/object.hpp>

#include <algorithm>
#include <exception>
#include <utility>

#include "core/columns.hpp"

namespace leasehold::etcd {
namespace {

namespace json = boost::json;
using Effect = StoreFault::Effect;
using Cause = StoreFault::Cause;

// Keys and lock ids in one batch: few enough to compare each one separately.
constexpr std::size_t names_of_a_transaction = 100;

StoreFault not_understood(Effect effect, const std::string& problem) {
    return {effect, Cause::internal, "etcd answered something that was not understood: " + problem};
}

template <class From>
auto understood(const json::value& said, Effect effect, From from) {
    try {
        return from(said);
    } catch (const std::exception& error) {
        throw not_understood(effect, error.what());
    }
}

// The clock of a runner never leaps: it is made of steady clocks.
StoreOptions without_leaps(StoreOptions options) {
    options.max_clock_leap = std::chrono::years{100};
    return options;
}

}  // namespace

BatchRunner::BatchRunner(Shared& shared)
    : CellStore{without_leaps(shared.options),
                {.conflict = retries::etcd_conflict, .lookups = names_of_a_transaction}},
      shared_{shared},
      names_{shared.names},
      gateway_{shared.target, shared.options.io_timeout, shared.members} {}

void BatchRunner::prepare() {
    const KeyAccess keys{
        .read =
            [this](const KeyRange& range, std::size_t limit) {
                return understood(
                    gateway_.post("/v3/kv/range", range_body(range, limit), Effect::none),
                    Effect::none, page_from);
            },
        .send =
            [this](const Txn& txn) {
                return understood(gateway_.post("/v3/kv/txn", txn.body(), Effect::none),
                                  Effect::none, Answer::from)
                    .as_expected;
            }};
    migrate(keys, names_, shared_.steps);
    write_clock();
}

Answer BatchRunner::send(Txn& txn, Effect effect, std::optional<Time> written) {
    txn.expect_value(names_.format(), shared_.format);
    txn.read_otherwise({names_.format()});
    txn.read({names_.clock()});
    txn.read_otherwise({names_.clock()});
    const std::string body = txn.body();
    const auto asked = shared_.steady();
    const json::value said = gateway_.post("/v3/kv/txn", body, effect);
    const auto answered = shared_.steady();
    try {
        Answer answer = Answer::from(said);
        const Page clock = std::move(answer.reads.back());
        answer.reads.pop_back();
        if (!answer.as_expected) {
            require_our_version(answer.reads.back());
            answer.reads.pop_back();
        }
        if (written && answer.as_expected) {
            answer.clock = *written;
            shared_.clock.wrote({*written, answer.revision}, asked, answered);
        } else if (!clock.pairs.empty()) {
            const auto time = time_from(clock.pairs.front().value);
            if (!time) throw std::runtime_error{"the clock key does not contain a time"};
            answer.clock = *time;
            const ClockKey::Reading reading{*time, clock.pairs.front().changed};
            if (answer.put_if_done && reading.changed == answer.revision) {
                shared_.clock.wrote(reading, asked, answered);
            } else {
                shared_.clock.saw(reading, asked, answered);
            }
        }
        return answer;
    } catch (const StoreFault&) {
        throw;
    } catch (const std::exception& error) {
        throw not_understood(effect, error.what());
    }
}

void BatchRunner::require_our_version(const Page& format) const {
    const bool found = !format.pairs.empty();
    if (found && format.pairs.front().value == shared_.format) return;
    require_version("etcd", found ? version_in(format.pairs.front().value) : 0,
                    shared_.steps.size());
}

Page BatchRunner::range(const KeyRange& range, std::size_t limit, Revision* revision) {
    Txn txn;
    txn.read(range, limit);
    Answer answer = send(txn, Effect::none);
    if (revision != nullptr) *revision = answer.revision;
    return std::move(answer.reads.front());
}

KnownRow BatchRunner::row_in(const Page& page, Revision known_at) const {
    auto rows = rows_in(page, Unreadable::refuse);
    if (rows.empty()) return {.row = {}, .shares = {}, .changed = 0, .known_at = known_at};
    KnownRow known = std::move(rows.front().known);
    known.known_at = known_at;
    return known;
}

std::vector<BatchRunner::KeyAndRow> BatchRunner::rows_in(const Page& page,
                                                         Unreadable unreadable) const {
    std::vector<KeyAndRow> rows;
    for (const KeyValue& pair : page.pairs) {
        auto part = names_.part_of(pair.key);
        if (!part) continue;
        try {
            if (!part->share) {
                rows.push_back(
                    {part->key,
                     {.row = row_from(pair.value), .shares = {}, .changed = pair.changed}});
            } else if (!rows.empty() && rows.back().key == part->key) {
                rows.back().known.shares.push_back(share_from(pair.value));  // lab: read-share
            }
        } catch (const UnreadableRow&) {
            if (unreadable == Unreadable::refuse) throw;
            // Its other parts are left out, too.
            if (!rows.empty() && rows.back().key == part->key) rows.pop_back();
        }
    }
    for (KeyAndRow& row : rows) std::ranges::sort(row.known.shares, {}, &Grant::fence);
    return rows;
}

void BatchRunner::read_leases(Txn& txn, std::span<const LockId> lock_ids) const {
    for (const LockId& id : lock_ids) txn.read(names_.leases(id));
}

void BatchRunner::take_leases(std::span<const Page> pages, std::span<const LockId> lock_ids,
                              Revision known_at) {
    for (std::size_t i = 0; i < lock_ids.size(); ++i) {
        KnownLease lease{.known_at = known_at};
        for (const KeyValue& pair : pages[i].pairs) {
            if (auto key = names_.key_of_lease(pair.key)) {
                lease.keys.push_back(*std::move(key));
            } else {
                lease.ended = ended_from(pair.value).ended;
            }
        }
        leases_.insert_or_assign(lock_ids[i], std::move(lease));
    }
}

std::unordered_map<LockId, LockKey> BatchRunner::locate(std::span<const LockId> lock_ids) {
    Txn txn;
    read_leases(txn, lock_ids);
    txn.agree_on(names_.nobody());
    const Answer answer = send(txn, Effect::none);
    leases_.clear();
    take_leases(answer.reads, lock_ids, answer.revision);
    std::unordered_map<LockId, LockKey> keys;
    for (const auto& [id, lease] : leases_) {
        if (!lease.keys.empty()) {
            keys.emplace(id, lease.keys.front());
        } else if (lease.ended) {
            keys.emplace(id, lease.ended->key);
        }
    }
    return keys;
}

OwnedKeys BatchRunner::keys_of(const std::string& owner, OwnerScope scope, std::size_t most) {
    if (owner.empty()) return {};
    std::vector<KeyRange> ranges{names_.owned_by(owner)};
    if (scope == OwnerScope::below) ranges.push_back(names_.owned_below(owner));
    OwnedKeys owned;
    for (const KeyRange& all : ranges) {
        Revision revision = 0;
        const Page page = range(all, most + 1, &revision);
        owned.rows += page.pairs.size();
        for (const KeyValue& pair : page.pairs) {
            if (auto key = names_.key_owned(pair.key)) owned.keys.push_back(*std::move(key));
        }
        unchanged_.push_back({all, revision});
    }
    sort_and_unite(owned.keys);
    return owned;
}

}  // namespace leasehold::etcd
