#include "cli/place_in_line.hpp"

#include <utility>

#include "core/try_request.hpp"
#include "server_url.hpp"
#include "stores/http/line.hpp"

namespace leasehold::cli {

PlaceInLine::PlaceInLine(const Invocation& call) {
    const StoreUrl url = StoreUrl::parse(named_store(call), {});
    if (url.scheme != "http" && url.scheme != "https") return;
    line_ = std::make_unique<http::Line>(server_at(url), url.options.io_timeout);
}

PlaceInLine::~PlaceInLine() = default;

Result<PlaceInLine::Taken> PlaceInLine::take(LockManager& locks, const LockKey& key,
                                             const LockOptions& options, Duration patience,
                                             const std::stop_token& ended) {
    const bool waits = line_ && patience > Duration::zero();
    auto asked_at = SteadyClock::now();
    auto lease = [&] {
        if (!waits) return locks.try_lock(key, options);
        const TryLock wanted = try_request(key, options, locks.limits());
        locks.validate(wanted);
        return line_->try_lock(wanted, patience, ended);
    }();
    if (waits && lease) {
        // When its time began cannot be told from an answer that was waited for.
        asked_at = SteadyClock::now();
        lease = locks.renew(key, lease->lock_id, options.ttl.value_or(locks.limits().default_ttl));
    }
    if (!lease) return std::unexpected{std::move(lease.error())};
    return Taken{*std::move(lease), asked_at};
}

}  // namespace leasehold::cli
