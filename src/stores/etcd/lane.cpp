#include "stores/etcd/lane.hpp"

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

// Of keys and lock ids, so that each can be compared by itself.
constexpr std::size_t names_of_a_transaction = 100;

StoreFault not_understood(Effect effect, const std::string& problem) {
    return {effect, Cause::internal, "etcd answered something that was not understood: " + problem};
}

// A lane's clock makes no leaps: it is made of steady clocks.
StoreOptions without_leaps(StoreOptions options) {
    options.max_clock_leap = std::chrono::years{100};
    return options;
}

}  // namespace

Lane::Lane(Shared& shared)
    : CellStore{without_leaps(shared.options),
                {.conflict = retries::etcd_conflict, .lookups = names_of_a_transaction}},
      shared_{shared},
      names_{shared.names},
      gateway_{shared.target, shared.options.io_timeout, shared.members} {}

void Lane::prepare() {
    write_clock();
    const Page format = range({names_.format()}, 1);
    if (!format.pairs.empty() && format.pairs.front().value != format_version) {
        throw StoreFault{Effect::none, Cause::configuration,
                         "these keys of etcd were written by another version of Leasehold"};
    }
}

StoreStatus Lane::status() {
    StoreStatus status;
    const json::value version = gateway_.get("/version");
    const json::value* const number = version.get_object().if_contains("etcdserver");
    status.name = "etcd";
    if (number != nullptr && number->is_string()) {
        status.name += ' ' + std::string{number->get_string()};
    }
    status.durability = Durability::strong;
    const json::value alarms =
        gateway_.post("/v3/maintenance/alarm", R"({"action":"GET"})", Effect::none);
    if (alarms.get_object().contains("alarms")) {
        status.warnings.emplace_back(
            "etcd has raised an alarm: see `etcdctl alarm list`; with NOSPACE it refuses to write");
    }
    return status;
}

Answer Lane::send(Txn& txn, Effect effect, std::optional<Time> written) {
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
        if (written && answer.as_expected) {
            answer.clock = *written;
            shared_.clock.wrote({*written, answer.revision}, asked, answered);
        } else if (!clock.pairs.empty()) {
            const auto time = time_from(clock.pairs.front().value);
            if (!time) throw std::runtime_error{"the clock is no time"};
            answer.clock = *time;
            const ClockKey::Reading reading{*time, clock.pairs.front().changed};
            if (answer.put_if_done && reading.changed == answer.revision) {
                shared_.clock.wrote(reading, asked, answered);
            } else {
                shared_.clock.saw(reading, asked, answered);
            }
        }
        return answer;
    } catch (const std::exception& error) {
        throw not_understood(effect, error.what());
    }
}

Page Lane::range(const KeyRange& range, std::size_t limit, Revision* revision) {
    const json::value said = gateway_.post("/v3/kv/range", range_body(range, limit), Effect::none);
    try {
        if (revision != nullptr) *revision = revision_of(said);
        return page_from(said);
    } catch (const std::exception& error) {
        throw not_understood(Effect::none, error.what());
    }
}

KnownRow Lane::row_in(const Page& page, Revision known_at) const {
    auto rows = rows_in(page);
    if (rows.empty()) return {.row = {}, .shares = {}, .changed = 0, .known_at = known_at};
    KnownRow known = std::move(rows.front().known);
    known.known_at = known_at;
    return known;
}

std::vector<Lane::KeyAndRow> Lane::rows_in(const Page& page) const {
    std::vector<KeyAndRow> rows;
    for (const KeyValue& pair : page.pairs) {
        auto part = names_.part_of(pair.key);
        if (!part) continue;
        if (!part->share) {
            auto row = row_from(pair.value);
            if (!row) throw not_understood(Effect::none, "a lock's row has another form");
            rows.push_back({std::move(part->key),
                            {.row = *std::move(row), .shares = {}, .changed = pair.changed}});
        } else if (!rows.empty() && rows.back().key == part->key) {
            if (auto share = share_from(pair.value)) {
                rows.back().known.shares.push_back(*std::move(share));  // lab: read-share
            }
        }
    }
    for (KeyAndRow& row : rows) std::ranges::sort(row.known.shares, {}, &Grant::fence);
    return rows;
}

void Lane::read_leases(Txn& txn, std::span<const LockId> lock_ids) const {
    for (const LockId& id : lock_ids) txn.read(names_.leases(id));
}

void Lane::take_leases(std::span<const Page> pages, std::span<const LockId> lock_ids,
                       Revision known_at) {
    for (std::size_t i = 0; i < lock_ids.size(); ++i) {
        KnownLease lease{.known_at = known_at};
        for (const KeyValue& pair : pages[i].pairs) {
            if (auto key = names_.key_of_lease(pair.key)) {
                lease.keys.push_back(*std::move(key));
            } else if (auto record = ended_from(pair.value)) {
                lease.ended = std::move(record->ended);
            }
        }
        leases_.insert_or_assign(lock_ids[i], std::move(lease));
    }
}

std::unordered_map<LockId, LockKey> Lane::locate(std::span<const LockId> lock_ids) {
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

std::vector<LockKey> Lane::keys_of(const std::string& owner, OwnerScope scope) {
    return owned(owner, scope, &unchanged_);
}

std::vector<LockKey> Lane::owned(const std::string& owner, OwnerScope scope,
                                 std::vector<Unchanged>* seen) {
    if (owner.empty()) return {};
    std::vector<KeyRange> ranges{names_.owned_by(owner)};
    if (scope == OwnerScope::below) ranges.push_back(names_.owned_below(owner));
    std::vector<LockKey> keys;
    for (const KeyRange& all : ranges) {
        Revision revision = 0;
        for (const KeyValue& pair : range(all, 0, &revision).pairs) {
            if (auto key = names_.key_owned(pair.key)) keys.push_back(*std::move(key));
        }
        if (seen != nullptr) seen->push_back({all, revision});
    }
    sort_and_unite(keys);
    return keys;
}

}  // namespace leasehold::etcd
