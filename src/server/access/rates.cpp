#include "server/access/rates.hpp"

#include <algorithm>

namespace leasehold::server {
namespace {

const std::string everybody_else;
// Bounds the cost of looking for full buckets, however many new names there are.
constexpr std::chrono::seconds between_sweeps{1};

}  // namespace

double Buckets::Bucket::content_at(Moment now) const {
    const std::chrono::duration<double> passed = now - at;
    return std::min(rate.at_once, content + passed.count() * rate.per_second);
}

std::optional<std::chrono::duration<double>> Buckets::take(const std::string& name,
                                                           const Rate& rate, double amount,
                                                           Moment now) {
    const std::lock_guard lock{mutex_};
    Bucket& bucket = bucket_of(name, rate, now);
    bucket = {.content = bucket.content_at(now), .at = now, .rate = rate};
    // A batch is allowed as soon as one of its requests is. It pays for the others afterwards.
    if (bucket.content < 1) {
        return std::chrono::duration<double>{(1 - bucket.content) / rate.per_second};
    }
    bucket.content -= amount;
    return std::nullopt;
}

Buckets::Bucket& Buckets::bucket_of(const std::string& name, const Rate& rate, Moment now) {
    if (const auto found = buckets_.find(name); found != buckets_.end()) return found->second;
    if (buckets_.size() >= most_ && now >= next_sweep_) {
        next_sweep_ = now + between_sweeps;
        std::erase_if(buckets_, [&](const auto& known) {
            return known.second.content_at(now) >= known.second.rate.at_once;
        });
    }
    const bool room = buckets_.size() < most_;
    const Bucket full{.content = rate.at_once, .at = now, .rate = rate};
    return buckets_.try_emplace(room ? name : everybody_else, full).first->second;
}

std::size_t Buckets::size() const {
    const std::lock_guard lock{mutex_};
    return buckets_.size();
}

}  // namespace leasehold::server
