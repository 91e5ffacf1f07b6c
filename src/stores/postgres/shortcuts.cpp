#include "stores/postgres/shortcuts.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "core/fresh_lock_id.hpp"
#include "stores/postgres/columns.hpp"
#include "stores/postgres/shortcut_statements.hpp"

namespace leasehold::postgres {
namespace {

// One row's field as a value, several rows' fields as an array.
template <class Row, class FieldOf>
void add_rows(Parameters& parameters, const std::vector<Row>& rows, FieldOf field_of) {
    if (rows.size() == 1) {
        add_field(parameters, std::invoke(field_of, rows.front()));
    } else {
        add_fields(parameters, rows, field_of);
    }
}

template <class Row, class RequestOf>
Parameters key_parameters(const std::vector<Row>& rows, Time floor, RequestOf request_of) {
    Parameters parameters;
    parameters.time(floor);
    add_rows(parameters, rows,
             [&](const Row& row) { return std::invoke(request_of, row).key.type(); });
    add_rows(parameters, rows,
             [&](const Row& row) { return std::invoke(request_of, row).key.id(); });
    add_rows(parameters, rows,
             [&](const Row& row) -> LockId { return std::invoke(request_of, row).lock_id; });
    return parameters;
}

// A longer bound is treated as no bound, because it would exceed PostgreSQL's times.
constexpr Duration longest_bound = std::chrono::years{100};

std::int64_t micros(const std::optional<Duration>& bound, std::int64_t otherwise) {
    return bound && *bound < longest_bound ? bound->count() : otherwise;
}

// The leases of an answer whose rows begin with their place in `asked`.
template <class Named>
Time take_leases(const Rows& rows, const std::vector<Named>& asked, std::span<Outcome> outcomes) {
    Time latest{};
    for (int row = 0; row < rows.size(); ++row) {
        const Named& request = asked[static_cast<std::size_t>(rows.integer(row, 0)) - 1];
        Grant lease{.lock_id = request.lock_id};
        read_columns(public_columns, RowAt{rows, row}, 1, lease);
        const Time now = rows.time(row, 1 + count_of(public_columns));
        latest = std::max(latest, now);
        if (lease.expires_at <= now) continue;  // a check of a lease that has expired
        outcomes[request.index] = to_lease(request.key, lease, now);
    }
    return latest;
}

}  // namespace

void Shortcuts::add(std::size_t index, const TryLock& r) {
    tries_.push_back({index, r});
    all_fresh_ = all_fresh_ && FreshLockId::is_fresh(r.lock_id);
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
    changes_.push_back({{index, *r.key, r.lock_id}, unbounded, ended, unbounded, r.by});
    some_end_ = true;
}

std::vector<Command> Shortcuts::commands() const {
    std::vector<Command> commands;
    if (!tries_.empty()) commands.push_back(tries());
    if (!checks_.empty()) {
        commands.push_back({checks_.size() == 1 ? sql::check_one : sql::check_many,
                            key_parameters(checks_, floor_, std::identity{})});
    }
    if (!changes_.empty()) commands.push_back(changes());
    return commands;
}

Command Shortcuts::tries() const {
    Parameters parameters =
        key_parameters(tries_, floor_, [](const Try& t) -> const TryLock& { return t.request; });
    add_rows(parameters, tries_, [](const Try& t) { return t.request.ttl.count(); });
    add_rows(parameters, tries_,
             [](const Try& t) { return micros(t.request.max_hold, unbounded); });
    for_each_column(requested_columns, [&](const auto& column) {
        add_rows(parameters, tries_,
                 [&](const Try& t) -> const auto& { return std::invoke(column.field, t.request); });
    });
    const std::string& one = all_fresh_ ? sql::try_fresh_id_one : sql::try_one;
    const std::string& many = all_fresh_ ? sql::try_fresh_id_many : sql::try_many;
    return {tries_.size() == 1 ? one : many, std::move(parameters)};
}

Command Shortcuts::changes() const {
    Parameters parameters = key_parameters(changes_, floor_, std::identity{});
    add_rows(parameters, changes_, &Change::by);
    add_rows(parameters, changes_, &Change::ttl);
    add_rows(parameters, changes_, &Change::max_hold);
    add_rows(parameters, changes_, &Change::released_by);
    const bool one = changes_.size() == 1;
    if (!some_end_) return {one ? sql::prolong_one : sql::prolong_many, std::move(parameters)};
    if (history_ == StoreOptions::KeepHistory::off) {
        return {one ? sql::release_one : sql::release_many, std::move(parameters)};
    }
    return {one ? sql::release_and_keep_one : sql::release_and_keep_many, std::move(parameters)};
}

std::vector<std::int64_t> Shortcuts::numbers_to_notify(std::span<const Rows> answers) const {
    std::vector<std::int64_t> numbers;
    if (!some_end_) return numbers;
    const Rows& changed = answers.back();
    constexpr int column = 2 + count_of(public_columns);
    for (int row = 0; row < changed.size(); ++row) {
        const std::int64_t number = changed.integer(row, column);
        if (number != 0) numbers.push_back(number);
    }
    return numbers;
}

Time Shortcuts::take(std::span<const Rows> answers, std::span<Outcome> outcomes) const {
    Time latest{};
    auto answer = answers.begin();
    if (!tries_.empty()) latest = take_tries(*answer++, outcomes);
    if (!checks_.empty()) latest = std::max(latest, take_leases(*answer++, checks_, outcomes));
    if (!changes_.empty()) latest = std::max(latest, take_leases(*answer++, changes_, outcomes));
    return latest;
}

// An insert returns its rows' keys, not their places in `tries_`.
Time Shortcuts::take_tries(const Rows& rows, std::span<Outcome> outcomes) const {
    Time latest{};
    for (int row = 0; row < rows.size(); ++row) {
        const std::pair key{rows.text(row, 0), rows.text(row, 1)};
        const Try& granted = *std::ranges::lower_bound(tries_, key, {}, [](const Try& t) {
            return std::pair{t.request.key.type(), t.request.key.id()};
        });
        Grant lease;
        read_columns(lease_columns, RowAt{rows, row}, 2, lease);
        const Time now = rows.time(row, 2 + count_of(lease_columns));
        latest = std::max(latest, now);
        outcomes[granted.index] = to_lease(granted.request.key, lease, now);
    }
    return latest;
}

}  // namespace leasehold::postgres
