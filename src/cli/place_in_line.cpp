#include "cli/place_in_line.hpp"

#include <utility>

#include "core/try_request.hpp"
#include "server_url.hpp"
#include "stores/http/line.hpp"

namespace leasehold::cli {
namespace {

Result<PlaceInLine::Taken> taken_at(SteadyClock::time_point asked_at, Result<Lease> lease) {
    if (!lease) return std::unexpected{std::move(lease.error())};
    return PlaceInLine::Taken{*std::move(lease), asked_at};
}

Result<PlaceInLine::Taken> ask(LockManager& locks, const LockKey& key, const LockOptions& options) {
    const auto asked_at = SteadyClock::now();
    return taken_at(asked_at, locks.try_lock(key, options));
}

}  // namespace

PlaceInLine::PlaceInLine(const Invocation& call) {
    const StoreUrl url = StoreUrl::parse(named_store(call), {});
    if (url.scheme != "http" && url.scheme != "https") return;
    line_ = std::make_unique<http::Line>(server_at(url), url.options.io_timeout);
}

PlaceInLine::~PlaceInLine() = default;

Result<PlaceInLine::Taken> PlaceInLine::take(LockManager& locks, const LockKey& key,
                                             LockOptions options, Duration patience,
                                             const std::stop_token& ended) {
    options.lock_id = lock_id_;
    auto taken = line_ && patience > Duration::zero()
                     ? stand_in_line(locks, key, options, patience, ended)
                     : ask(locks, key, options);
    if (taken || taken.error().kind != Refusal::Kind::gone || options.since) return taken;
    // Granted by a request whose answer was lost or came too late, and expired since.
    options.lock_id = lock_id_ = LockId::random();
    return ask(locks, key, options);
}

Result<PlaceInLine::Taken> PlaceInLine::stand_in_line(LockManager& locks, const LockKey& key,
                                                      const LockOptions& options, Duration patience,
                                                      const std::stop_token& ended) {
    const TryLock wanted = try_request(key, options, locks.limits());
    locks.validate(wanted);
    try {
        const auto granted = line_->try_lock(wanted, patience, ended);
        if (!granted) return std::unexpected{granted.error()};
        // When its time began cannot be told from an answer that was waited for.
        const auto asked_at = SteadyClock::now();
        return taken_at(asked_at, locks.renew(key, granted->lock_id, wanted.ttl));
    } catch (const StoreFault&) {
        // A grant may have been on its way to us.
        if (ended.stop_requested()) (void)locks.release(key, lock_id_);
        throw;
    }
}

}  // namespace leasehold::cli
