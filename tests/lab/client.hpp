#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <leasehold/store.hpp>

namespace leasehold::lab {

class Dice {
public:
    explicit Dice(std::uint64_t seed) : numbers_{seed} {}

    std::uint64_t below(std::uint64_t bound) { return numbers_() % bound; }
    bool in_thousand(unsigned chances) { return below(1000) < chances; }
    Duration between(Duration low, Duration high) {
        return low + Duration{static_cast<Duration::rep>(
                         below(static_cast<std::uint64_t>((high - low).count())))};
    }
    LockId lock_id();

private:
    std::mt19937_64 numbers_;
};

// Keeps the latest few values of many, and a few of the earlier ones.
template <class T>
class Memory {
public:
    void add(T one) {
        latest_.push_back(std::move(one));
        if (latest_.size() <= few) return;
        if (forgotten_++ % one_of == 0) {
            earlier_.push_back(std::move(latest_.front()));
            if (earlier_.size() > few) earlier_.erase(earlier_.begin());
        }
        latest_.erase(latest_.begin());
    }
    [[nodiscard]] bool empty() const { return latest_.empty(); }
    [[nodiscard]] const T& any(Dice& dice) const {
        const auto& some = !earlier_.empty() && dice.in_thousand(300) ? earlier_ : latest_;
        return some[dice.below(some.size())];
    }

private:
    static constexpr std::size_t few = 6, one_of = 5;
    std::size_t forgotten_ = 0;
    std::vector<T> latest_, earlier_;
};

// Makes random requests about a few keys, all from its seed. Not thread-safe.
class Client {
public:
    Client(std::string name, std::vector<LockKey> keys, std::uint64_t seed);

    [[nodiscard]] Request next();
    // Processes an answer. If the outcome is unknown, it may return the same request, to be sent
    // again, which settles it. Later requests then use a new owner, so that the unknown outcome
    // concerns only few leases.
    [[nodiscard]] std::optional<Request> hear(const Request& request, const Outcome& outcome);

    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] Dice& dice() { return dice_; }

private:
    LockKey any_key() { return keys_[dice_.below(keys_.size())]; }
    Duration any_ttl();
    Mode any_mode() { return dice_.in_thousand(650) ? Mode::exclusive : Mode::shared; }
    // Some owners are empty; some are prefixes of others.
    std::string any_owner();
    Request release_all();
    Request break_one();
    Request try_several();
    Request about_mine();

    const std::string name_;
    const std::vector<LockKey> keys_;
    Dice dice_;
    std::string owner_;
    std::size_t lives_ = 0;
    // Leases that it was granted, leases of others that it saw last, and tries that it made.
    Memory<std::pair<LockKey, LockId>> mine_;
    std::vector<Holder> others_;
    Memory<TryLock> tried_;
};

[[nodiscard]] std::vector<LockKey> some_keys(std::size_t count);

}  // namespace leasehold::lab
