#include "stores/etcd/lane.hpp"

#include <boost/json/object.hpp>

#include <algorithm>
#include <exception>
#include <thread>
#include <utility>

#include "core/columns.hpp"

namespace leasehold::etcd {
namespace {

namespace json = boost::json;
using Effect = StoreFault::Effect;
using Cause = StoreFault::Cause;

constexpr std::string_view format_version = "1";
constexpr int attempts = 12;
// Of keys and lock ids, so that each can be compared by itself.
constexpr std::size_t names_of_a_transaction = 100;
// More lock ids than these are not compared: their rows are.
constexpr std::size_t compared_leases = 20;
constexpr std::size_t many_unnumbered = 250;
// etcd's --max-request-bytes is 1.5 MiB by default: room for what is compared and read beside.
constexpr std::size_t bytes_of_a_transaction = 1024 * 1024;

StoreFault not_understood(Effect effect, const std::string& problem) {
    return {effect, Cause::internal, "etcd answered something that was not understood: " + problem};
}

// A lane's clock makes no leaps: it is made of steady clocks.
StoreOptions without_leaps(StoreOptions options) {
    options.max_clock_leap = std::chrono::years{100};
    return options;
}

Time machine_time() {
    return std::chrono::floor<Duration>(std::chrono::system_clock::now());
}

// Whether it is one of a lease there that has not ended.
bool has(const KnownRow& known, LockId lock_id) {
    if (known.changed == 0 || known.row.ended != Gone::unknown) return false;
    return known.row.lock_id == lock_id ||
           std::ranges::find(known.shares, lock_id, &Grant::lock_id) != known.shares.end();
}

}  // namespace

Lane::Lane(Shared& shared)
    : CellStore{without_leaps(shared.options),
                {.attempts = attempts, .names = names_of_a_transaction}},
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
            shared_.clock.wrote({*written, answer.revision}, asked, answered);
        } else if (!clock.pairs.empty()) {
            const auto time = time_from(clock.pairs.front().value);
            if (!time) throw std::runtime_error{"the clock is no time"};
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

void Lane::keep_time() {
    if (!shared_.clock.is_close(shared_.steady())) write_clock();
}

void Lane::write_clock() {
    for (int attempt = 0; attempt < attempts; ++attempt) {
        const ClockKey::Reading latest = shared_.clock.latest();
        Txn txn;
        Time time = shared_.clock.may_write(shared_.steady());
        if (latest.changed == 0) {
            // Of a new store. It needs some time to begin with.
            time = machine_time();
            txn.put(names_.format(), std::string{format_version});
        }
        txn.expect_exactly(names_.clock(), latest.changed);
        txn.put(names_.clock(), print(time));
        if (send(txn, Effect::none, time).as_expected) return;
        // Others write it, too: that they did after we had looked may do.
        if (shared_.clock.is_close(shared_.steady())) return;
    }
    if (shared_.clock.is_known()) return;
    throw StoreFault{Effect::none, Cause::unavailable,
                     "others keep writing the store's clock in etcd"};
}

Time Lane::raise_clock(Txn& txn, Time at_least) {
    const auto give_up = std::chrono::steady_clock::now() + options_.io_timeout;
    for (;;) {
        const ClockKey::Reading latest = shared_.clock.latest();
        const Time time = shared_.clock.may_write(shared_.steady());
        if (time >= at_least) {
            txn.expect_exactly(names_.clock(), latest.changed);
            txn.put(names_.clock(), print(time));
            return time;
        }
        if (std::chrono::steady_clock::now() > give_up) {
            throw StoreFault{Effect::none, Cause::unavailable,
                             "the store's clock may not be raised far enough yet"};
        }
        constexpr Duration longest_nap = std::chrono::milliseconds{5};
        std::this_thread::sleep_for(std::min(at_least - time, longest_nap));
        // What others write meanwhile must not go unseen.
        constexpr Duration longest_unseen = std::chrono::milliseconds{30};
        if (!shared_.clock.was_looked_at_since(shared_.steady() - longest_unseen)) {
            Txn look;
            (void)send(look, Effect::none);
        }
    }
}

std::optional<Time> Lane::tick(Txn& txn) const {
    const auto at = shared_.steady();
    if (!shared_.clock.is_old(at)) return std::nullopt;
    const Time time = shared_.clock.may_write(at);
    txn.put_if(names_.clock(), shared_.clock.latest().changed, print(time));
    return time;
}

CellStore::Begun Lane::begin() {
    guessing_ = true;
    return Begun::writing;
}

void Lane::rollback() noexcept {
    guessing_ = false;
    leases_.clear();
    unchanged_.clear();
}

void Lane::load(Work& work) {
    keep_time();
    if (guessing_) {
        load_as_known(work);
    } else {
        load_as_it_is(work);
    }
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

void Lane::load_as_it_is(Work& work) {
    Time dead{};
    for (int attempt = 0; attempt < attempts; ++attempt) {
        Txn txn;
        for (const Slot& slot : work.slots) txn.read(names_.row_and_shares(slot.key));
        read_leases(txn, work.lock_ids);
        std::optional<Time> written;
        if (dead > shared_.clock.latest().time) {
            written = raise_clock(txn, dead);
        } else if (!tick(txn)) {
            txn.agree_on(names_.nobody());
        }
        const Answer answer = send(txn, Effect::none, written);
        if (!answer.as_expected) continue;
        known_.clear();
        for (std::size_t i = 0; i < work.slots.size(); ++i) {
            known_.push_back(row_in(answer.reads[i], answer.revision));
            shared_.rows.learn(work.slots[i].key, known_.back());
        }
        leases_.clear();
        take_leases(std::span{answer.reads}.subspan(work.slots.size()), work.lock_ids,
                    answer.revision);
        lay_out(work);
        leases_.clear();
        dead = latest_dead(work);
        if (dead <= shared_.clock.latest().time) return;
    }
    throw Conflict{};
}

void Lane::load_as_known(Work& work) {
    known_.assign(work.slots.size(), {});
    std::vector<std::size_t> unknown;
    for (std::size_t i = 0; i < work.slots.size(); ++i) {
        if (auto row = shared_.rows.find(work.slots[i].key)) {
            known_[i] = *std::move(row);
        } else {
            unknown.push_back(i);
        }
    }
    std::vector<LockId> ids;
    for (const LockId& id : work.lock_ids) {
        const bool in_a_row =
            std::ranges::any_of(known_, [&](const KnownRow& known) { return has(known, id); });
        if (!in_a_row && !leases_.contains(id)) ids.push_back(id);
    }
    if (!ids.empty()) {
        Txn txn;
        for (const std::size_t i : unknown) txn.read(names_.row_and_shares(work.slots[i].key));
        read_leases(txn, ids);
        const Answer answer = send(txn, Effect::none);
        for (std::size_t i = 0; i < unknown.size(); ++i) {
            known_[unknown[i]] = row_in(answer.reads[i], answer.revision);
        }
        take_leases(std::span{answer.reads}.subspan(unknown.size()), ids, answer.revision);
    }
    lay_out(work);
}

void Lane::lay_out(Work& work) {
    const ClockKey::Reading latest = shared_.clock.latest();
    decided_at_ = std::max({shared_.clock.now(shared_.steady()), latest.time, clock_.floor()});
    for (std::size_t i = 0; i < work.slots.size(); ++i) {
        Slot& slot = work.slots[i];
        const KnownRow& known = known_[i];
        slot.state = known.changed > 0 ? Slot::State::ours : Slot::State::missing;
        slot.row = known.row;
        slot.shares = known.shares;
        if (known.changed > 0) decided_at_ = std::max(decided_at_, known.row.touched_at);
    }
    work.past.clear();
    for (const auto& [id, lease] : leases_) {
        if (!lease.ended || lease.ended->ending->at < decided_at_ - options_.retention) continue;
        work.past.emplace(id, *lease.ended);
    }
    work.reading = {decided_at_, decided_at_};
}

// Everybody must see that they are dead before anything is made of it.
Time Lane::latest_dead(const Work& work) const {
    Time dead{};
    for (const Slot& slot : work.slots) {
        if (slot.state == Slot::State::missing) continue;
        for (const Grant& grant : cell_of(slot.row, slot.shares).grants) {
            if (grant.expires_at <= decided_at_) dead = std::max(dead, grant.expires_at);
        }
        if (slot.forget) {
            // The next fence will be a time after this.
            dead = std::max({dead, slot.row.touched_at + Duration{1},
                             leasehold::time_from(slot.row.fence + 1)});
        }
    }
    return dead;
}

void Lane::commit(const Work& work, Txn& txn, Effect effect) {
    if (txn.bytes_written() > bytes_of_a_transaction) throw TooMuch{};
    txn.expect_no_erasure(names_.forgotten());
    Time alive = never;
    for (std::size_t i = 0; i < work.slots.size(); ++i) {
        const Slot& slot = work.slots[i];
        txn.expect(names_.row_and_shares(slot.key), known_[i].changed, known_[i].known_at);
        txn.read_otherwise(names_.row_and_shares(slot.key));
        if (slot.state == Slot::State::missing) continue;
        for (const Grant& grant : cell_of(slot.row, slot.shares).grants) {
            if (grant.expires_at > decided_at_) alive = std::min(alive, grant.expires_at);
        }
    }
    if (leases_.size() <= compared_leases) {
        for (const auto& [id, lease] : leases_) {
            txn.expect_unchanged(names_.leases(id), lease.known_at);
        }
    }
    for (const Unchanged& seen : unchanged_) txn.expect_unchanged(seen.range, seen.since);
    // Nobody may have seen those dead that we take for alive.
    if (alive != never) txn.expect_below(names_.clock(), print(alive));

    std::optional<Time> written;
    const Time dead = latest_dead(work);
    if (dead > shared_.clock.latest().time) {
        written = raise_clock(txn, dead);
    } else if (!tick(txn)) {
        txn.agree_on(names_.nobody());
    }

    const Answer answer = send(txn, effect, written);
    guessing_ = false;
    leases_.clear();
    unchanged_.clear();
    for (std::size_t i = 0; i < work.slots.size(); ++i) {
        if (!answer.as_expected) {
            known_[i] = row_in(answer.reads[i], answer.revision);
        } else if (work.slots[i].forget) {
            known_[i] = {};
        } else if (work.slots[i].cell.changed) {
            known_[i].changed = answer.revision;
        }
        known_[i].known_at = answer.revision;
        shared_.rows.learn(work.slots[i].key, std::move(known_[i]));
    }
    if (!answer.as_expected) throw Conflict{};
}

void Lane::end_unchanged(Work& work) {
    Txn txn;
    commit(work, txn, Effect::none);
}

void Lane::save_and_commit(Work& work) {
    Txn txn;
    for (std::size_t i = 0; i < work.slots.size(); ++i) {
        if (work.slots[i].forget || work.slots[i].cell.changed) write(work, i, txn);
    }
    add_to_history(work, txn);
    commit(work, txn, txn.writes() ? Effect::unknown : Effect::none);
    unnumbered_ += work.endings.size();
    if (unnumbered_ >= many_unnumbered) number_when_many();
}

void Lane::number_when_many() noexcept {
    unnumbered_ = 0;
    try {
        number_what_ended();
    } catch (...) {
        // What was asked for is done; others will number it.
    }
}

void Lane::write(const Work& work, std::size_t index, Txn& txn) {
    const Slot& slot = work.slots[index];
    const LockKey& key = slot.key;
    const Cell before =
        slot.state == Slot::State::missing ? Cell{} : cell_of(slot.row, slot.shares);
    const Cell after = slot.forget ? Cell{} : slot.cell;
    const auto among = [](const Cell& cell, LockId id) {
        return std::ranges::find(cell.grants, id, &Grant::lock_id) != cell.grants.end();
    };

    for (const Grant& old : before.grants) {
        if (among(after, old.lock_id)) continue;
        if (!old.owner.empty()) txn.erase(names_.owned(old.owner, key, old.lock_id));
        txn.erase(names_.lease(old.lock_id, key));
    }
    for (const Grant& grant : after.grants) {
        if (among(before, grant.lock_id)) continue;
        if (!grant.owner.empty()) txn.put(names_.owned(grant.owner, key, grant.lock_id), {});
        txn.put(names_.lease(grant.lock_id, key), {});
    }
    if (before.last) txn.erase(names_.lease(before.last->grant.lock_id, key));
    if (after.last) txn.put(names_.lease(after.last->grant.lock_id, key), {});

    const ShareChanges changes = share_changes(slot);
    for (const LockId& id : changes.removed) txn.erase(names_.share(key, id));
    if (slot.forget) {
        txn.erase(names_.row(key));
        txn.put(names_.forgotten(), {});
        return;
    }
    for (const Grant* share : changes.written) {
        txn.put(names_.share(key, share->lock_id), print_share(*share));
    }
    LockRow row = row_of(slot);
    txn.put(names_.row(key), print(row));
    // What will be known once it is written.
    known_[index].row = std::move(row);
    known_[index].shares.clear();
    std::ranges::copy_if(slot.cell.grants, std::back_inserter(known_[index].shares),
                         [](const Grant& grant) { return grant.mode == Mode::shared; });
}

void Lane::add_to_history(const Work& work, Txn& txn) const {
    std::int64_t order = 0;
    for (const Ended& ended : work.endings) {
        const Grant& grant = ended.ending->grant;
        const std::string record = print(ended, order++);
        txn.put(names_.lease(grant.lock_id), record);
        txn.put(names_.ended(grant.lock_id, ended.key, grant.fence), record);
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
                rows.back().known.shares.push_back(*std::move(share));
            }
        }
    }
    for (KeyAndRow& row : rows) std::ranges::sort(row.known.shares, {}, &Grant::fence);
    return rows;
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

ClockReading Lane::read_clock() {
    keep_time();
    const Time time = std::max(shared_.clock.now(shared_.steady()), shared_.clock.latest().time);
    return {time, time};
}

// The clock is one.
void Lane::raise_floor(Time /*floor*/) noexcept {}

}  // namespace leasehold::etcd
