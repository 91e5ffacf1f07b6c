#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "core/out_of_memory.hpp"

// The Asio types of the server: one io_context per thread, and everything of a connection on one.
namespace leasehold::server {

namespace asio = boost::asio;

using Executor = asio::io_context::executor_type;
using Socket = asio::basic_stream_socket<asio::ip::tcp, Executor>;
using Clock = std::chrono::steady_clock;
using Timer = asio::basic_waitable_timer<Clock, asio::wait_traits<Clock>, Executor>;

template <class T>
using Task = asio::awaitable<T, Executor>;

inline constexpr asio::use_awaitable_t<Executor> use_task{};

// Resumes a task that waits until this is called.
using Resume = asio::async_result<asio::use_awaitable_t<Executor>, void()>::handler_type;

// The end of a task that nobody waits for: an exception continues into Worker::run(), which reports
// it to the observer.
inline void rethrow(const std::exception_ptr& error) {
    if (error) std::rethrow_exception(error);
}

// Passes `begin` a callback and waits until it is called, once and from any thread. Resumes on the
// caller's own executor with the callback's argument.
template <class T, class Begin>
Task<T> answer_from(Begin begin) {
    const Executor executor = co_await asio::this_coro::executor;
    auto initiate = [&](auto handler) {
        struct Answer {
            decltype(handler) resume;
            std::optional<T> value{};
        };
        auto answer = std::make_shared<Answer>(std::move(handler));
        begin([answer, work = asio::make_work_guard(executor)](T value) {
            answer->value.emplace(std::move(value));
            do_for_certain([&] {
                asio::post(work.get_executor(),
                           [answer] { std::move(answer->resume)(*std::move(answer->value)); });
            });
        });
    };
    co_return co_await asio::async_initiate<const asio::use_awaitable_t<Executor>, void(T)>(
        initiate, use_task);
}

}  // namespace leasehold::server
