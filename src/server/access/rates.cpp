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

std::optional<Buckets::Wait> Buckets::take(const std::string& name, const Rate& rate, double amount,
                                           Moment now) {
    const std::lock_guard lock{mutex_};
    Bucket& bucket = bucket_of(name, rate, now);
    bucket = {.content = bucket.content_at(now), .at = now, .rate = rate};
    if (bucket.content < 1) return Wait{(1 - bucket.content) / rate.per_second};
    bucket.content -= amount;
    return std::nullopt;
}

bool Buckets::refuses(const std::string& name, Moment now) const {
    const std::lock_guard lock{mutex_};
    auto bucket = buckets_.find(name);
    if (bucket == buckets_.end() && buckets_.size() >= most_)
        bucket = buckets_.find(everybody_else);
    return bucket != buckets_.end() && bucket->second.content_at(now) < 1;
}

Buckets::Taken Buckets::take_each(const std::string& name, const Rate& rate,
                                  std::span<const double> amounts, Moment now) {
    const std::lock_guard lock{mutex_};
    Bucket& bucket = bucket_of(name, rate, now);
    bucket = {.content = bucket.content_at(now), .at = now, .rate = rate};
    Taken taken;
    taken.allowed.reserve(amounts.size());
    for (const double amount : amounts) {
        const double needed = std::min(amount, rate.at_once);
        const bool allowed = bucket.content >= needed;
        taken.allowed.push_back(allowed);
        if (allowed) {
            bucket.content -= amount;
        } else if (!taken.wait) {
            taken.wait = Wait{(needed - bucket.content) / rate.per_second};
        }
    }
    return taken;
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
