#include "server/protocol/backend.hpp"

#include <boost/asio/co_spawn.hpp>

#include <utility>

#include "server/monitoring/observer.hpp"

namespace leasehold::server {
namespace {

void counted_or_failed(const std::exception_ptr& error, const std::optional<HeldCount>&) {
    rethrow(error);
}

}  // namespace

Backend::Backend(LockManager& locks, asio::io_context& home, const ServerOptions& options)
    : locks_{locks},
      options_{options},
      access_{options},
      store_{locks, outcomes_, options},
      reporter_{store_, locks.limits(), home, options},
      waiting_room_{store_, outcomes_, home, options},
      delayed_releases_{store_, home, options},
      held_{store_, locks.limits().page_rows, options.leases_counted_every},
      readiness_{store_} {
    outcomes_.subscribe(*options.observer);
    outcomes_.subscribe(statistics_);
    outcomes_.subscribe(reporter_);
    outcomes_.subscribe(delayed_releases_);
    outcomes_.subscribe(waiting_room_);
}

Task<std::optional<HeldCount>> Backend::count_leases() {
    const auto held = co_await held_.count();
    if (held) statistics_.counted_held(held->leases);
    co_return held;
}

void Backend::count_leases_if_due(const Executor& executor) {
    if (statistics_.count_is_due()) asio::co_spawn(executor, count_leases(), counted_or_failed);
}

void Backend::use(std::shared_ptr<const Tokens> tokens) {
    access_.use(std::move(tokens));
    reporter_.end_if([this](const Token& token) { return !access_.admits(token, Need::see); });
    waiting_room_.send_away_unwelcome();
}

void Backend::close() {
    waiting_room_.close();
    delayed_releases_.close();
    reporter_.close();
}

}  // namespace leasehold::server
