#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/keyed_hash.hpp"
#include "server/options.hpp"

namespace leasehold::server {

// Limits how often each name may do something (token bucket). Thread-safe.
// 1. Each name has a bucket, which fills at the name's rate.
// 2. An action takes its amount from the bucket, and is refused if the bucket holds too little.
// 3. At most `most` buckets are kept. If there are more names, full buckets are forgotten; if none
//    is full, the new names share one bucket.
class Buckets {
public:
    using Moment = std::chrono::steady_clock::time_point;

    explicit Buckets(std::size_t most) : most_{most} {}

    using Wait = std::chrono::duration<double>;

    // Takes the whole amount if the bucket holds at least 1. Its content may become negative then.
    // Otherwise takes nothing and returns how long to wait.
    [[nodiscard]] std::optional<Wait> take(const std::string& name, const Rate& rate, double amount,
                                           Moment now);

    // Whether take() would refuse now.
    [[nodiscard]] bool refuses(const std::string& name, Moment now) const;

    // Takes the amount of each action that the bucket allows, in their order. An amount that
    // exceeds a full bucket is allowed by a full bucket, whose content becomes negative then.
    struct Taken {
        std::vector<bool> allowed;   // one for each amount
        std::optional<Wait> wait{};  // for the first action that is not allowed, if any
    };
    [[nodiscard]] Taken take_each(const std::string& name, const Rate& rate,
                                  std::span<const double> amounts, Moment now);

    [[nodiscard]] std::size_t size() const;

private:
    struct Bucket {
        double content;
        Moment at;
        Rate rate;

        [[nodiscard]] double content_at(Moment now) const;
    };

    [[nodiscard]] Bucket& bucket_of(const std::string& name, const Rate& rate, Moment now);

    const std::size_t most_;
    mutable std::mutex mutex_;
    std::unordered_map<std::string, Bucket, KeyedTextHash> buckets_;  // guarded by mutex_
    Moment next_sweep_{};                                             // guarded by mutex_
};

}  // namespace leasehold::server
