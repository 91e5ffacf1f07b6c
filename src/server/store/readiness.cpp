#include "server/store/readiness.hpp"

#include <boost/asio/co_spawn.hpp>

#include <utility>

namespace leasehold::server {

Task<Readiness::Found> Readiness::failure() {
    const Executor executor = co_await asio::this_coro::executor;
    auto begin = [&](auto resume) {
        std::unique_lock lock{mutex_};
        if (Clock::now() < believed_until_) return resume(latest_);
        askers_.emplace_back(resume);
        const bool first = askers_.size() == 1;
        lock.unlock();
        if (first) asio::co_spawn(executor, ask(), rethrow);
    };
    co_return co_await answer_from<Found>(begin);
}

Task<void> Readiness::ask() {
    const Found found = co_await ask_store();
    const std::lock_guard lock{mutex_};
    latest_ = found;
    believed_until_ = Clock::now() + believed_for;
    for (const auto& answer : std::exchange(askers_, {})) answer(found);
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
