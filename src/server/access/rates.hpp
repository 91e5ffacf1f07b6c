#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "server/options.hpp"

namespace leasehold::server {

// Limits how often each name may do something (token bucket). Thread-safe.
// 1. Each name has a bucket, which fills at the name's rate.
// 2. An action takes from the bucket, and is refused if the bucket holds less than 1.
// 3. At most `most` buckets are kept. If there are more names, full buckets are forgotten; if none
//    is full, the new names share one bucket.
class Buckets {
public:
    using Moment = std::chrono::steady_clock::time_point;

    explicit Buckets(std::size_t most) : most_{most} {}

    // Takes the whole amount if the bucket holds at least 1. Its content may become negative then.
    // Otherwise takes nothing and returns how long to wait.
    [[nodiscard]] std::optional<std::chrono::duration<double>> take(const std::string& name,
                                                                    const Rate& rate, double amount,
                                                                    Moment now);

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
    std::unordered_map<std::string, Bucket> buckets_;  // guarded by mutex_
    Moment next_sweep_{};                              // guarded by mutex_
};

}  // namespace leasehold::server
