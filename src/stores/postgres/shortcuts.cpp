#include "stores/postgres/shortcuts.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>

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

std::vector<std::size_t> Shortcuts::Named::places(const Rows& rows) const {
    std::unordered_map<std::string_view, std::size_t> place_of;
    for (std::size_t i = 0; i < lock_ids.size(); ++i) place_of.emplace(lock_ids[i], i);
    std::vector<std::size_t> places;
    for (int row = 0; row < rows.size(); ++row) places.push_back(place_of.at(rows.text(row, 0)));
    return places;
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
        Parameters parameters = releases_.parameters(floor_);
        parameters.integer(history_ == StoreOptions::KeepHistory::on ? 1 : 0);
        commands.push_back({n == 1 ? sql::release_one : sql::release_many, std::move(parameters)});
    }
    return commands;
}

Time Shortcuts::take(std::span<const Rows> answers, std::span<const Request> requests,
                     std::span<Outcome> outcomes) const {
    Time latest{};
    std::size_t at = 0;
    if (!tries_.indices.empty()) {
        const Rows& rows = answers[at++];
        const std::vector<std::size_t> places = tries_.places(rows);
        for (int row = 0; row < rows.size(); ++row) {
            const std::size_t index = tries_.indices[places[static_cast<std::size_t>(row)]];
            const auto& request = std::get<TryLock>(requests[index]);
            const Time now = rows.time(row, 2);
            latest = std::max(latest, now);
            outcomes[index] = Lease{.key = request.key,
                                    .lock_id = request.lock_id,
                                    .owner = request.owner,
                                    .mode = Mode::exclusive,
                                    .fence = rows.integer(row, 1),
                                    .granted_at = now,
                                    .expires_at = rows.time(row, 3),
                                    .note = request.note,
                                    .store_now = now};
        }
    }
    for (const Named* named : {&checks_, &prolongs_, &releases_}) {
        if (named->indices.empty()) continue;
        const Rows& rows = answers[at++];
        const std::vector<std::size_t> places = named->places(rows);
        for (int row = 0; row < rows.size(); ++row) {
            const std::size_t place = places[static_cast<std::size_t>(row)];
            const Time now = rows.time(row, 6);
            const Time expires_at = rows.time(row, 4);
            latest = std::max(latest, now);
            if (expires_at <= now) continue;  // a check of a lease that has expired
            outcomes[named->indices[place]] = Lease{.key = {named->types[place], named->ids[place]},
                                                    .lock_id = lock_id_from(rows.text(row, 0)),
                                                    .owner = std::string{rows.text(row, 1)},
                                                    .mode = Mode::exclusive,
                                                    .fence = rows.integer(row, 2),
                                                    .granted_at = rows.time(row, 3),
                                                    .expires_at = expires_at,
                                                    .note = std::string{rows.text(row, 5)},
                                                    .store_now = now};
        }
    }
    return latest;
}

}  // namespace leasehold::postgres
