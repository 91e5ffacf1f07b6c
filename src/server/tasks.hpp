#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>

// The Asio types of the server: one io_context per thread, and everything of a connection on one.
namespace leasehold::server {

namespace asio = boost::asio;

using Executor = asio::io_context::executor_type;
using Socket = asio::basic_stream_socket<asio::ip::tcp, Executor>;
using Clock = std::chrono::steady_clock;

template <class T>
using Task = asio::awaitable<T, Executor>;

inline constexpr asio::use_awaitable_t<Executor> use_task{};

// Continues a task that waits for nothing but to be continued.
using Resume = asio::async_result<asio::use_awaitable_t<Executor>, void()>::handler_type;

}  // namespace leasehold::server
