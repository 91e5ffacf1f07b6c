#pragma once

#include <chrono>
#include <cstddef>
#include <string_view>

#include <leasehold/errors.hpp>

namespace leasehold::server {

// A request that was answered. Nothing in it names what was locked, by whom, or with which secret.
struct Served {
    std::string_view method;
    std::string_view route;  // "/v1/locks/{type}/{id}"; empty where there is no such resource
    unsigned status = 0;
    std::chrono::nanoseconds took{};  // from the request's last byte to the answer's first
    std::size_t bytes_in = 0;         // of the body
    std::size_t bytes_out = 0;        // of the whole answer
};

// Sees what a server does. Every function is called from any thread, often, and must not block.
class Observer {
public:
    Observer() = default;
    Observer(const Observer&) = delete;
    Observer& operator=(const Observer&) = delete;
    virtual ~Observer() = default;

    virtual void served(const Served& request) noexcept = 0;
    virtual void store_failed(const StoreFault& fault) noexcept = 0;
};

}  // namespace leasehold::server
