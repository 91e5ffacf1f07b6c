#include "server/store/held_leases.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <exception>
#include <memory>
#include <utility>

namespace leasehold::server {

Task<std::optional<HeldCount>> HeldLeases::count() {
    if (begin()) {
        const Executor executor = co_await asio::this_coro::executor;
        auto timer = std::make_shared<Timer>(executor, patience);
        auto counted = [timer](const std::exception_ptr&) {
            timer->expires_at(Clock::time_point::min());
        };
        asio::co_spawn(executor, count_anew(), std::move(counted));
        boost::system::error_code ignored;
        co_await timer->async_wait(asio::redirect_error(use_task, ignored));
    }
    co_return latest();
}

bool HeldLeases::begin() {
    const auto now = Clock::now();
    const std::lock_guard lock{mutex_};
    if (counting_ || now < next_) return false;
    begun_ = now;
    counting_ = true;
    return true;
}

void HeldLeases::end(std::optional<HeldCount> counted) {
    const auto now = Clock::now();
    const std::lock_guard lock{mutex_};
    next_ = now + between_counts_;
    // A store that does not answer is not kept busy. Once it answers, the leases are counted again.
    if (counted) next_ = std::max(begun_ + between_counts_, now + seldom * (now - begun_));
    latest_ = counted;
    counting_ = false;
}

std::optional<HeldCount> HeldLeases::latest() {
    const std::lock_guard lock{mutex_};
    return latest_;
}

Task<void> HeldLeases::count_anew() {
    std::optional<HeldCount> counted;
    try {
        counted = co_await count_all_pages();
    } catch (const std::exception&) {
        // Handled like a store that does not answer.
    }
    end(counted);
}

Task<std::optional<HeldCount>> HeldLeases::count_all_pages() {
    List page{.limit = page_rows_};
    for (std::size_t leases = 0;;) {
        Request question = page;
        const Outcome outcome = co_await store_.ask(std::move(question), Recipient::nobody);
        const auto* holders = std::get_if<HolderPage>(&outcome);
        if (holders == nullptr) co_return std::nullopt;
        leases += holders->size();
        if (!holders->may_continue(page.limit) || leases >= HeldCount::most) {
            co_return HeldCount{std::min(leases, HeldCount::most),
                                std::chrono::system_clock::now()};
        }
        page.after = holders->last();
    }
}

}  // namespace leasehold::server
