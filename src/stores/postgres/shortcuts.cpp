#include "stores/postgres/shortcuts.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "stores/postgres/statements.hpp"

namespace leasehold::postgres {
namespace {

// One value as it is, several as an array.
template <class Row, class ValueOf>
void add_texts(Parameters& parameters, const std::vector<Row>& rows, ValueOf value_of) {
    rows.size() == 1 ? parameters.text(value_of(rows[0])) : parameters.texts(rows, value_of);
}

template <class Row, class ValueOf>
void add_integers(Parameters& parameters, const std::vector<Row>& rows, ValueOf value_of) {
    rows.size() == 1 ? parameters.integer(std::invoke(value_of, rows[0]))
                     : parameters.integers(rows, value_of);
}

template <class Named>
Parameters names_of(const std::vector<Named>& rows, Time floor) {
    Parameters parameters;
    parameters.time(floor);
    add_texts(parameters, rows, [](const Named& row) { return row.key.type(); });
    add_texts(parameters, rows, [](const Named& row) { return row.key.id(); });
    add_texts(parameters, rows, [](const Named& row) { return row.lock_id.to_string(); });
    return parameters;
}

std::int64_t micros(const std::optional<Duration>& bound, std::int64_t otherwise) {
    return bound ? bound->count() : otherwise;
}

// The leases of an answer whose rows begin with their place in `asked`.
template <class Named>
Time take_leases(const Rows& rows, const std::vector<Named>& asked, std::span<Outcome> outcomes) {
    Time latest{};
    for (int row = 0; row < rows.size(); ++row) {
        const Named& request = asked[static_cast<std::size_t>(rows.integer(row, 0)) - 1];
        const Time expires_at = rows.time(row, 4);
        const Time now = rows.time(row, 6);
        latest = std::max(latest, now);
        if (expires_at <= now) continue;  // a check of a lease that has expired
        outcomes[request.index] = Lease{.key = request.key,
                                        .lock_id = request.lock_id,
                                        .owner = std::string{rows.text(row, 1)},
                                        .mode = Mode::exclusive,
                                        .fence = rows.integer(row, 2),
                                        .granted_at = rows.time(row, 3),
                                        .expires_at = expires_at,
                                        .note = std::string{rows.text(row, 5)},
                                        .store_now = now};
    }
    return latest;
}

}  // namespace

void Shortcuts::add(std::size_t index, const TryLock& r) {
    tries_.push_back({index, r});
    all_fresh_ = all_fresh_ && r.fresh_lock_id;
}

void Shortcuts::add(std::size_t index, const Check& r) {
    checks_.push_back({index, *r.key, r.lock_id});
}

void Shortcuts::add(std::size_t index, const Extend& r) {
    changes_.push_back({{index, *r.key, r.lock_id},
                        r.by.count(),
                        r.max_ttl.count(),
                        micros(r.max_hold, unbounded)});
}

void Shortcuts::add(std::size_t index, const Renew& r) {
    changes_.push_back(
        {{index, *r.key, r.lock_id}, unbounded, r.ttl.count(), micros(r.max_hold, unbounded)});
}

void Shortcuts::add(std::size_t index, const Release& r) {
    changes_.push_back({{index, *r.key, r.lock_id}, unbounded, ended, unbounded});
    some_end_ = true;
}

std::vector<Command> Shortcuts::commands() const {
    std::vector<Command> commands;
    if (!tries_.empty()) commands.push_back(tries());
    if (!checks_.empty()) {
        commands.push_back(
            {checks_.size() == 1 ? sql::check_one : sql::check_many, names_of(checks_, floor_)});
    }
    if (!changes_.empty()) commands.push_back(changes());
    return commands;
}

Command Shortcuts::tries() const {
    Parameters parameters;
    parameters.time(floor_);
    add_texts(parameters, tries_, [](const Try& t) { return t.request.key.type(); });
    add_texts(parameters, tries_, [](const Try& t) { return t.request.key.id(); });
    add_texts(parameters, tries_, [](const Try& t) { return t.request.lock_id.to_string(); });
    add_texts(parameters, tries_, [](const Try& t) { return std::string_view{t.request.owner}; });
    add_texts(parameters, tries_, [](const Try& t) { return std::string_view{t.request.note}; });
    add_integers(parameters, tries_, [](const Try& t) {
        return std::min(t.request.ttl, t.request.max_hold.value_or(t.request.ttl)).count();
    });
    const std::string& one = all_fresh_ ? sql::try_fresh_one : sql::try_one;
    const std::string& many = all_fresh_ ? sql::try_fresh_many : sql::try_many;
    return {tries_.size() == 1 ? one : many, std::move(parameters)};
}

Command Shortcuts::changes() const {
    Parameters parameters = names_of(changes_, floor_);
    add_integers(parameters, changes_, &Change::by);
    add_integers(parameters, changes_, &Change::ttl);
    add_integers(parameters, changes_, &Change::max_hold);
    const bool one = changes_.size() == 1;
    if (!some_end_) return {one ? sql::prolong_one : sql::prolong_many, std::move(parameters)};
    if (history_ == StoreOptions::KeepHistory::off) {
        return {one ? sql::release_one : sql::release_many, std::move(parameters)};
    }
    return {one ? sql::release_and_keep_one : sql::release_and_keep_many, std::move(parameters)};
}

Time Shortcuts::take(std::span<const Rows> answers, std::span<Outcome> outcomes) const {
    Time latest{};
    auto answer = answers.begin();
    if (!tries_.empty()) latest = take_tries(*answer++, outcomes);
    if (!checks_.empty()) latest = std::max(latest, take_leases(*answer++, checks_, outcomes));
    if (!changes_.empty()) latest = std::max(latest, take_leases(*answer++, changes_, outcomes));
    return latest;
}

// An insert cannot tell its rows' places, only their keys.
Time Shortcuts::take_tries(const Rows& rows, std::span<Outcome> outcomes) const {
    Time latest{};
    for (int row = 0; row < rows.size(); ++row) {
        const std::pair key{rows.text(row, 0), rows.text(row, 1)};
        const Try& granted = *std::ranges::lower_bound(tries_, key, {}, [](const Try& t) {
            return std::pair{t.request.key.type(), t.request.key.id()};
        });
        const Time now = rows.time(row, 3);
        latest = std::max(latest, now);
        outcomes[granted.index] = Lease{.key = granted.request.key,
                                        .lock_id = granted.request.lock_id,
                                        .owner = granted.request.owner,
                                        .mode = Mode::exclusive,
                                        .fence = rows.integer(row, 2),
                                        .granted_at = now,
                                        .expires_at = rows.time(row, 4),
                                        .note = granted.request.note,
                                        .store_now = now};
    }
    return latest;
}

}  // namespace leasehold::postgres
