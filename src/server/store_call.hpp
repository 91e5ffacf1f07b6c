#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include <memory>
#include <utility>
#include <vector>

#include <leasehold/lock_manager.hpp>

#include "server/tasks.hpp"

namespace leasehold::server {

// Hands requests to the store in this order and resumes the caller, on its own executor, when all
// are answered. The requests are within the limits (LockManager::validate).
inline Task<std::vector<Outcome>> ask_all(LockManager& locks, std::vector<Request> requests) {
    const Executor executor = co_await asio::this_coro::executor;
    std::vector<Outcome> outcomes(requests.size());
    auto initiate = [&](auto handler) {
        struct Waiting {
            asio::executor_work_guard<Executor> work;
            decltype(handler) resume;
            std::atomic<std::size_t> left;
        };
        auto waiting = std::make_shared<Waiting>(asio::make_work_guard(executor),
                                                 std::move(handler), requests.size());
        for (std::size_t i = 0; i < requests.size(); ++i) {
            locks.submit(std::move(requests[i]), [waiting, &to = outcomes[i]](Outcome outcome) {
                to = std::move(outcome);
                if (--waiting->left > 0) return;
                asio::post(waiting->work.get_executor(),
                           [waiting] { std::move(waiting->resume)(); });
            });
        }
    };
    if (!requests.empty()) {
        co_await asio::async_initiate<const asio::use_awaitable_t<Executor>, void()>(initiate,
                                                                                     use_task);
    }
    co_return outcomes;
}

}  // namespace leasehold::server
