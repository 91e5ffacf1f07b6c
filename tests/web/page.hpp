#pragma once

#include <gtest/gtest.h>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include <string>

#include <leasehold/web/lock_routes.hpp>

#include "unit/manual_clock.hpp"
#include "unit/waiting.hpp"

namespace leasehold::testing {

using namespace std::chrono_literals;

// What a page of one visitor asks, and how it reads the answers.
struct Answer {
    int status = 0;
    boost::json::object body{};

    [[nodiscard]] std::string text(const char* name) const {
        return std::string{body.at(name).as_string()};
    }
};

class Page {
public:
    Page(web::LockRoutes& routes, web::Visitor visitor)
        : routes_{routes}, visitor_{std::move(visitor)} {}

    web::Response send(const std::string& method, const std::string& below,
                       const std::string& body = {}, const std::string& lock_id = {},
                       const std::stop_token& client_gone = {}) const {
        web::Request request{.method = method,
                             .target = "/v1/locks/" + below,
                             .body = body,
                             .client_gone = client_gone};
        if (!body.empty()) request.headers.emplace_back("content-type", "application/json");
        if (!lock_id.empty()) request.headers.emplace_back("Lock-Token", lock_id);
        return routes_.answer(request, visitor_);
    }
    Answer ask(const std::string& method, const std::string& below, const std::string& body = {},
               const std::string& lock_id = {}, const std::stop_token& client_gone = {}) const {
        const auto response = send(method, below, body, lock_id, client_gone);
        return {response.status, boost::json::parse(response.body).as_object()};
    }

private:
    web::LockRoutes& routes_;
    web::Visitor visitor_;
};

inline const std::string try_body = R"({"owner": "t"})";
inline const std::string wait_body = R"({"owner": "t", "wait_ms": 60000})";

// For tests whose locks must not be released for want of a sign of the page.
inline const web::LockRoutesOptions patient{.longest_wait = 60s, .sign_of_life = 1h};

// Routes on a store in memory. Orders may be locked, and price lists also to read.
class RoutesTest : public ::testing::Test {
protected:
    RoutesTest() : RoutesTest{patient} {}
    explicit RoutesTest(const web::LockRoutesOptions& options)
        : routes{locks,
                 [](const web::Visitor&, const LockKey& key, Mode mode) {
                     return key.type() == "PriceList" ||
                            (key.type() == "Order" && mode == Mode::exclusive);
                 },
                 options} {}

    [[nodiscard]] bool is_free(const LockKey& key) { return locks.holders(key).empty(); }
    [[nodiscard]] bool waits(std::size_t number) {
        return eventually([&] { return routes.waiting_for(order).size() == number; });
    }

    ManualClock clock;
    LockManager locks{memory_store_on(clock)};
    web::LockRoutes routes;
    const LockKey order{"Order", "1"};
    const Page kim{routes, {"Kim", "s-1"}};
    const Page lee{routes, {"Lee", "s-2"}};
};

}  // namespace leasehold::testing
