#include "server/protocol/backend.hpp"

#include <boost/asio/co_spawn.hpp>

#include <utility>

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
      reporter_{
          locks.limits(), home, options,
          [this](std::vector<Request> requests) { return store_.look_up(std::move(requests)); }},
      waiting_room_{locks, reporter_, home, options},
      delayed_releases_{waiting_room_, home, options},
      store_{locks, waiting_room_, delayed_releases_, statistics_, reporter_, options},
      held_{store_, locks.limits().page_rows, options.leases_counted_every},
      readiness_{store_} {}

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
