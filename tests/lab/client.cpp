#include "lab/client.hpp"

#include <fmt/format.h>

namespace leasehold::lab {
namespace {

using std::chrono::milliseconds;

bool is_unknown(const Outcome& outcome) {
    const auto* fault = std::get_if<StoreFault>(&outcome);
    return fault != nullptr && fault->effect() == StoreFault::Effect::unknown;
}

}  // namespace

LockId Dice::lock_id() {
    const std::uint64_t high = numbers_();
    const std::uint64_t low = numbers_();
    return *LockId::parse(fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32U,
                                      (high >> 16U) & 0xFFFFU, high & 0xFFFFU, low >> 48U,
                                      low & 0xFFFFFFFFFFFFU));
}

Client::Client(std::string name, std::vector<LockKey> keys, std::uint64_t seed)
    : name_{std::move(name)}, keys_{std::move(keys)}, dice_{seed}, owner_{name_} {}

std::optional<Request> Client::hear(const Request& request, const Outcome& outcome) {
    if (const auto* lease = std::get_if<Lease>(&outcome)) {
        if (std::holds_alternative<TryLock>(request) && !lease->lock_id.is_nil())
            mine_.add({lease->key, lease->lock_id});
    } else if (const auto* leases = std::get_if<std::vector<Lease>>(&outcome)) {
        if (std::holds_alternative<TryLockAll>(request)) {
            for (const Lease& one : *leases) mine_.add({one.key, one.lock_id});
        }
    } else if (const auto* refusal = std::get_if<Refusal>(&outcome)) {
        others_ = refusal->holders;
    } else if (is_unknown(outcome)) {
        owner_ = fmt::format("{}.{}", name_, ++lives_);
        if (dice_.in_thousand(600)) return request;
    }
    return std::nullopt;
}

Request Client::next() {
    const std::uint64_t kind = dice_.below(100);
    if (kind < 3) return release_all();
    if (kind < 6 && !others_.empty()) return break_one();
    if (kind < 11) return try_several();
    // Perhaps the client never received the answer.
    if (kind < 18 && !tried_.empty()) return tried_.any(dice_);
    if (!mine_.empty() && kind < 75) return about_mine();
    const TryLock wanted{.key = any_key(),
                         .lock_id = dice_.lock_id(),
                         .owner = any_owner(),
                         .mode = any_mode(),
                         .ttl = any_ttl()};
    tried_.add(wanted);
    return wanted;
}

Duration Client::any_ttl() {
    return dice_.between(milliseconds{100}, milliseconds{1500});
}

std::string Client::any_owner() {
    switch (dice_.below(4)) {
        case 0: return "";
        case 1: return owner_ + "/tab-1";
        case 2: return owner_ + "0";
        default: return owner_;
    }
}

Request Client::release_all() {
    ReleaseAll wanted{.owner = owner_,
                      .scope = dice_.in_thousand(500) ? OwnerScope::below : OwnerScope::exact};
    if (dice_.in_thousand(300)) wanted.key = any_key();
    return wanted;
}

Request Client::break_one() {
    const Holder& seen = others_[dice_.below(others_.size())];
    return Break{.key = seen.key, .fence = seen.fence, .by = name_, .reason = "needed"};
}

Request Client::try_several() {
    TryLockAll wanted{.owner = any_owner(), .mode = any_mode(), .ttl = any_ttl()};
    const std::size_t first = dice_.below(keys_.size() - 1);
    for (std::size_t i = first; i < first + 2; ++i) {
        wanted.keys.push_back(keys_[i]);
        wanted.lock_ids.push_back(dice_.lock_id());
    }
    return wanted;
}

Request Client::about_mine() {
    const auto& [key, lock_id] = mine_.any(dice_);
    switch (dice_.below(8)) {
        case 0:
        case 1: return Check{key, lock_id};
        case 2: return Extend{.key = key, .lock_id = lock_id, .by = any_ttl() / 2};
        case 3:
        case 4: return Renew{.key = key, .lock_id = lock_id, .ttl = any_ttl()};
        default: return Release{key, lock_id};
    }
}

std::vector<LockKey> some_keys(std::size_t count) {
    std::vector<LockKey> keys;
    for (std::size_t i = 0; i < count; ++i) keys.emplace_back("Order", fmt::format("{:03}", i));
    return keys;
}

}  // namespace leasehold::lab
