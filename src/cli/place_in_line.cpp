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

Result<Lease> PlaceInLine::take(LockManager& locks, const LockKey& key, LockOptions options,
                                Duration patience, const std::stop_token& ended) {
    options.lock_id = lock_id_;
    auto taken = line_ && patience > Duration::zero()
                     ? stand_in_line(locks, key, options, patience, ended)
                     : locks.try_lock(key, options);
    if (taken || taken.error().kind != Refusal::Kind::gone || options.since) return taken;
    // The lock was granted, the answer was lost or came too late, and the lease has expired.
    options.lock_id = lock_id_ = LockId::random();
    return locks.try_lock(key, options);
}

Result<Lease> PlaceInLine::stand_in_line(LockManager& locks, const LockKey& key,
                                         const LockOptions& options, Duration patience,
                                         const std::stop_token& ended) {
    const TryLock wanted = try_request(key, options, locks.limits());
    locks.validate(wanted);
    try {
        const auto granted = line_->try_lock(wanted, patience, ended);
        if (!granted) return std::unexpected{granted.error()};
        // The lease began while this request waited: renewing it counts from now.
        return locks.renew(key, granted->lock_id, wanted.ttl);
    } catch (const StoreFault&) {
        // The server may have granted the lock while the wait was ended.
        if (ended.stop_requested()) (void)locks.release(key, lock_id_);
        throw;
    }
}

}  // namespace leasehold::cli
