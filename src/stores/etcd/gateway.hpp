#pragma once

#include <boost/json/value.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <leasehold/stores/etcd.hpp>

#include "net/http_connection.hpp"

namespace leasehold::etcd {

// Shared by the connections of one store: which member to ask, and our user's token. Thread-safe.
class Members {
public:
    explicit Members(std::size_t count) : count_{count} {}

    [[nodiscard]] std::size_t count() const { return count_; }
    [[nodiscard]] std::size_t preferred() const { return preferred_; }
    // The member did not answer: ask the next one from now on.
    void pass_over(std::size_t member);

    [[nodiscard]] std::string token() const;
    void set_token(std::string token);

private:
    const std::size_t count_;
    std::atomic<std::size_t> preferred_{0};
    mutable std::mutex mutex_;
    std::string token_;  // guarded by mutex_
};

// etcd's JSON gateway, through whichever member answers. Not thread-safe.
class Gateway {
public:
    using Moment = net::HttpConnection::Moment;

    // `members` outlives this. Once `ended` is stopped, every call ends with a fault.
    Gateway(const Cluster& target, Duration io_timeout, Members& members,
            std::stop_token ended = {});

    // The answer to a request that etcd carried out. Throws StoreFault with no effect if etcd did
    // not start the request, with `effect` if it may have. A request without effect is sent to
    // each member in turn before that.
    [[nodiscard]] boost::json::value post(const std::string& path, const std::string& body,
                                          StoreFault::Effect effect);
    [[nodiscard]] boost::json::value get(const std::string& path);

    // Asks one member a question whose answer is a stream of JSON values.
    void open_stream(const std::string& path, const std::string& body, Moment deadline,
                     const std::stop_token& stop);
    // The next value of the stream that was opened last. Nothing at the deadline. Throws StoreFault
    // if the stream has ended, or when `stop` is requested.
    [[nodiscard]] std::optional<boost::json::value> next_of_stream(Moment deadline,
                                                                   const std::stop_token& stop);

private:
    [[nodiscard]] boost::json::value ask_members(net::Message message);
    [[nodiscard]] boost::json::value ask(std::size_t member, const net::Message& message,
                                         Moment deadline);
    [[nodiscard]] boost::json::value ask_as_user(std::size_t member, net::Message& message,
                                                 Moment deadline);
    void authenticate(std::size_t member, Moment deadline);

    const std::string user_;
    const std::string password_;
    const Duration io_timeout_;
    Members& members_;
    const std::stop_token ended_;
    std::vector<std::unique_ptr<net::HttpConnection>> connections_;  // one for each member
    std::size_t streaming_ = 0;                                      // the member of the stream
};

}  // namespace leasehold::etcd
