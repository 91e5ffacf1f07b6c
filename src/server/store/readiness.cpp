#include "server/store/readiness.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>

#include <utility>

namespace leasehold::server {

Task<Readiness::Found> Readiness::failure() {
    const Executor executor = co_await asio::this_coro::executor;
    auto begin = [&](auto resume) {
        std::unique_lock lock{mutex_};
        const auto now = Clock::now();
        if (now < believed_until_) return resume(latest_);
        if (asking_ && now >= asked_at_ + patience) return resume(late());
        askers_.emplace_back(resume);
        if (std::exchange(asking_, true)) return;
        asked_at_ = now;
        lock.unlock();
        auto timer = std::make_shared<Timer>(executor, patience);
        asio::co_spawn(executor, answer_when_late(timer), rethrow);
        asio::co_spawn(executor, ask(timer), rethrow);
    };
    co_return co_await answer_from<Found>(begin);
}

Task<void> Readiness::ask(std::shared_ptr<Timer> timer) {
    const Found found = co_await ask_store();
    timer->cancel();
    const std::lock_guard lock{mutex_};
    latest_ = found;
    believed_until_ = Clock::now() + believed_for;
    asking_ = false;
    for (const auto& answer : std::exchange(askers_, {})) answer(found);
}

Task<void> Readiness::answer_when_late(std::shared_ptr<Timer> timer) {
    boost::system::error_code cancelled;
    co_await timer->async_wait(asio::redirect_error(use_task, cancelled));
    const std::lock_guard lock{mutex_};
    // The store may have answered just before its time was up, and the next client may have asked.
    if (!asking_ || Clock::now() < asked_at_ + patience) co_return;
    for (const auto& answer : std::exchange(askers_, {})) answer(late());
}

Task<Readiness::Found> Readiness::ask_store() {
    try {
        const auto time = co_await store_.store_time();
        if (!time) co_return Failure{time.error().effect(), time.error().cause()};
    } catch (const std::exception&) {
        co_return Failure{StoreFault::Effect::none, StoreFault::Cause::internal};
    }
    co_return Found{};
}

}  // namespace leasehold::server
