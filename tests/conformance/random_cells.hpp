#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/columns.hpp"
#include "core/fresh_lock_id.hpp"
#include "core/lock_row.hpp"
#include "core/rules.hpp"

// Random states of a key in a database, each with a request about it. The same seed gives the same
// states, except for the lock ids.
namespace leasehold::conformance {

using namespace std::chrono_literals;

// A cell, the history of its lease, and a request about it.
struct Case {
    Slot slot;
    std::optional<Ended> past{};
    std::optional<LockKey> elsewhere{};  // where a live lease has the request's lock id
    Request request;
};

class RandomCases {
public:
    explicit RandomCases(std::uint64_t seed) : random_{seed} {}

    // `now` is the database's clock.
    Case next(Time now) {
        const std::string number = std::to_string(++cases_);
        Case drawn{.slot = {.key = {"Cell", number}}, .request = Check{}};
        draw_cell(drawn.slot, now);
        if (one_in(4)) {
            LockKey key = one_in(2) ? drawn.slot.key : LockKey{"Past", number};
            drawn.past = Ended{std::move(key), ending(grant(Mode::exclusive, now), now)};
        }
        const LockId id = lock_id_about(drawn);
        if (one_in(20)) drawn.elsewhere = LockKey{"Elsewhere", number};
        draw_request(drawn, drawn.elsewhere ? LockId::random() : id);
        return drawn;
    }

private:
    std::int64_t below(std::int64_t bound) {
        return std::uniform_int_distribution<std::int64_t>{0, bound - 1}(random_);
    }
    bool one_in(std::int64_t n) { return below(n) == 0; }
    std::string owner() {
        return std::vector<std::string>{"", "alice", "alice/tab-1", "bob"}[below(4)];
    }
    std::string token_id() { return std::vector<std::string>{"", "shop", "Shop"}[below(3)]; }
    std::string note() { return one_in(2) ? "" : "note " + std::to_string(below(100)); }
    // Never so close to zero that the duration of the test could matter.
    Duration some_time() {
        return std::vector<Duration>{10min, 30min, 2h, 20h}[below(4)] + Duration{below(1'000'000)};
    }

    Grant grant(Mode mode, Time now) {
        const Time granted_at = now - some_time();
        return {.lock_id = LockId::random(),
                .owner = owner(),
                .mode = mode,
                .fence = micros(one_in(8) ? now + some_time() : granted_at),
                .granted_at = granted_at,
                .expires_at = one_in(10)  ? never
                              : one_in(3) ? now - 1min
                                          : now + some_time(),
                .note = note(),
                .token_id = token_id()};
    }
    Ending ending(Grant grant, Time now) {
        const auto how = static_cast<Gone>(1 + below(4));
        return {.grant = std::move(grant),
                .how = how,
                .at = now - 1min,
                .by = how == Gone::taken || how == Gone::broken ? "admin" : "",
                .why = how == Gone::broken ? "reason" : ""};
    }

    void draw_cell(Slot& slot, Time now) {
        const auto kind = below(5);
        if (kind == 0) return;  // no row
        slot.state = Slot::State::ours;
        Cell& cell = slot.cell;
        // Sometimes another process has used times that the clock has not reached yet.
        cell.touched = one_in(6) ? now + 1min : now - 1min - some_time();
        if (kind == 1) {
            cell.last = std::make_shared<const Ending>(ending(grant(Mode::exclusive, now), now));
            cell.touched = std::max(cell.touched, cell.last->at);
            cell.fence = cell.last->grant.fence + (one_in(4) ? 1 : 0);
        } else if (kind <= 3) {
            cell.grants = {grant(Mode::exclusive, now)};
            cell.fence = cell.grants.front().fence;
        } else {
            for (auto shares = 1 + below(3); shares > 0; --shares) {
                cell.grants.push_back(grant(Mode::shared, now));
                cell.fence = cell.grants.back().fence = cell.fence + 1 + below(1000);
            }
            slot.shares = cell.grants;
        }
        slot.row = row_of(slot);
        slot.cell = cell_of(slot.row, slot.shares);
    }

    LockId lock_id_about(const Case& drawn) {
        const Cell& cell = drawn.slot.cell;
        if (!cell.grants.empty() && !one_in(4)) {
            return cell.grants[below(std::ssize(cell.grants))].lock_id;
        }
        if (cell.last && one_in(3)) return cell.last->grant.lock_id;
        if (drawn.past && one_in(2)) return drawn.past->ending->grant.lock_id;
        return LockId::random();
    }

    std::optional<Duration> bound() {
        if (one_in(2)) return std::nullopt;
        return one_in(2) ? 1h : 48h;
    }
    Duration ttl() {
        return one_in(12) ? until_released : Duration{1min} + Duration{below(1h / 1us)};
    }

    void draw_request(Case& drawn, LockId id) {
        const LockKey& key = drawn.slot.key;
        const Cell& cell = drawn.slot.cell;
        switch (below(6)) {
            case 0: drawn.request = Check{key, id}; return;
            case 1:
                drawn.request = Extend{.key = key,
                                       .lock_id = id,
                                       .by = 1min + Duration{below(1h / 1us)},
                                       .max_ttl = one_in(8) ? until_released : Duration{24h},
                                       .max_hold = bound()};
                return;
            case 2: drawn.request = Renew{key, id, ttl(), bound()}; return;
            case 3: {
                Release release{.key = key, .lock_id = id, .by = token_id()};
                if (!cell.grants.empty() && one_in(6)) {
                    release.if_expires_at =
                        cell.grants.front().expires_at - (one_in(2) ? Duration{0} : Duration{1});
                }
                drawn.request = release;
                return;
            }
            default: {
                TryLock wanted{
                    .key = key,
                    .lock_id = one_in(2) || drawn.elsewhere ? id : LockId::random(),
                    .owner =
                        !cell.grants.empty() && one_in(2) ? cell.grants.front().owner : owner(),
                    .mode = one_in(6) ? Mode::shared : Mode::exclusive,
                    .ttl = ttl(),
                    .note = note(),
                    .max_hold = bound(),
                    .token_id = !cell.grants.empty() && !one_in(3) ? cell.grants.front().token_id
                                                                   : token_id()};
                const bool known = wanted.lock_id == id;
                if (!known && one_in(2)) wanted.lock_id = FreshLockId::draw();
                if (one_in(8)) wanted.since = cell.fence + (one_in(2) ? 0 : 1);
                drawn.request = std::move(wanted);
            }
        }
    }

    std::mt19937_64 random_;
    std::uint64_t cases_ = 0;
};

}  // namespace leasehold::conformance
