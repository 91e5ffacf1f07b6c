#include "stores/postgres/shortcuts.hpp"

#include <algorithm>
#include <ranges>
#include <string_view>
#include <utility>

#include "stores/postgres/statements.hpp"

namespace leasehold::postgres {
namespace {

// One value as it is, several as an array.
void add_texts(Parameters& parameters, const std::vector<std::string>& values) {
    values.size() == 1 ? parameters.text(values[0]) : parameters.texts(values);
}

void add_integers(Parameters& parameters, const std::vector<std::int64_t>& values) {
    values.size() == 1 ? parameters.integer(values[0]) : parameters.integers(values);
}

}  // namespace

void Shortcuts::Named::add(std::size_t index, const LockKey& key, LockId lock_id) {
    KeyColumns::add(key);
    lock_ids.push_back(lock_id.to_string());
    indices.push_back(index);
}

Parameters Shortcuts::Named::parameters(Time floor) const {
    Parameters parameters;
    parameters.time(floor);
    add_texts(parameters, types);
    add_texts(parameters, ids);
    add_texts(parameters, lock_ids);
    return parameters;
}

std::size_t Shortcuts::Named::place_of(const Rows& rows, int row) const {
    const std::pair wanted{rows.text(row, 0), rows.text(row, 1)};
    const auto all = std::views::iota(std::size_t{0}, types.size());
    const auto found = std::ranges::lower_bound(all, wanted, {}, [this](std::size_t i) {
        return std::pair<std::string_view, std::string_view>{types[i], ids[i]};
    });
    return *found;
}

void Shortcuts::add(std::size_t index, const TryLock& r) {
    tries_.add(index, r.key, r.lock_id);
    owners_.push_back(r.owner);
    notes_.push_back(r.note);
    all_drawn_now_ = all_drawn_now_ && r.drawn == Drawn::for_this;
    ttls_.push_back((r.max_hold ? std::min(r.ttl, *r.max_hold) : r.ttl).count());
}

std::vector<Command> Shortcuts::commands() const {
    std::vector<Command> commands;
    if (const std::size_t n = tries_.indices.size(); n > 0) {
        Parameters parameters = tries_.parameters(floor_);
        add_texts(parameters, owners_);
        add_texts(parameters, notes_);
        add_integers(parameters, ttls_);
        parameters.integer(all_drawn_now_ ? 1 : 0);
        commands.push_back({n == 1 ? sql::try_one : sql::try_many, std::move(parameters)});
    }
    if (const std::size_t n = checks_.indices.size(); n > 0) {
        commands.push_back({n == 1 ? sql::check_one : sql::check_many, checks_.parameters(floor_)});
    }
    if (const std::size_t n = prolongs_.indices.size(); n > 0) {
        Parameters parameters = prolongs_.parameters(floor_);
        add_integers(parameters, bys_);
        add_integers(parameters, until_);
        add_integers(parameters, holds_);
        commands.push_back({n == 1 ? sql::prolong_one : sql::prolong_many, std::move(parameters)});
    }
    if (const std::size_t n = releases_.indices.size(); n > 0) {
        const bool keep = history_ == StoreOptions::KeepHistory::on;
        const std::string& one = keep ? sql::release_and_keep_one : sql::release_one;
        const std::string& many = keep ? sql::release_and_keep_many : sql::release_many;
        commands.push_back({n == 1 ? one : many, releases_.parameters(floor_)});
    }
    return commands;
}

Time Shortcuts::take(std::span<const Rows> answers, std::span<const Request> requests,
                     std::span<Outcome> outcomes) const {
    Time latest{};
    std::size_t at = 0;
    if (!tries_.indices.empty()) {
        const Rows& rows = answers[at++];
        for (int row = 0; row < rows.size(); ++row) {
            const std::size_t index = tries_.indices[tries_.place_of(rows, row)];
            const auto& request = std::get<TryLock>(requests[index]);
            const Time now = rows.time(row, 3);
            latest = std::max(latest, now);
            outcomes[index] = Lease{.key = request.key,
                                    .lock_id = request.lock_id,
                                    .owner = request.owner,
                                    .mode = Mode::exclusive,
                                    .fence = rows.integer(row, 2),
                                    .granted_at = now,
                                    .expires_at = rows.time(row, 4),
                                    .note = request.note,
                                    .store_now = now};
        }
    }
    for (const Named* named : {&checks_, &prolongs_, &releases_}) {
        if (named->indices.empty()) continue;
        const Rows& rows = answers[at++];
        for (int row = 0; row < rows.size(); ++row) {
            const std::size_t place = named->place_of(rows, row);
            const Time now = rows.time(row, 7);
            const Time expires_at = rows.time(row, 5);
            latest = std::max(latest, now);
            if (expires_at <= now) continue;  // a check of a lease that has expired
            outcomes[named->indices[place]] = Lease{.key = {named->types[place], named->ids[place]},
                                                    .lock_id = lock_id_from(named->lock_ids[place]),
                                                    .owner = std::string{rows.text(row, 2)},
                                                    .mode = Mode::exclusive,
                                                    .fence = rows.integer(row, 3),
                                                    .granted_at = rows.time(row, 4),
                                                    .expires_at = expires_at,
                                                    .note = std::string{rows.text(row, 6)},
                                                    .store_now = now};
        }
    }
    return latest;
}

}  // namespace leasehold::postgres
