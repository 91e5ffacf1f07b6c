#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "server/options.hpp"

namespace leasehold::server {

// Who does it too often: for each name a bucket that fills with its rate. Thread-safe. Knows at
// most `most` names: when there are more, those not seen lately are forgotten, and else the
// newcomers share a bucket.
class Buckets {
public:
    using Moment = std::chrono::steady_clock::time_point;

    explicit Buckets(std::size_t most) : most_{most} {}

    // Takes it all where there is anything in the bucket, which then may owe. Otherwise nothing is
    // taken, and the answer is how long to wait.
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
