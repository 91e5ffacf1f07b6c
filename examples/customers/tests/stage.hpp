#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "application.hpp"
#include "person.hpp"
#include "support/process.hpp"

// The application on a database of its own for each test, on every database that it can use.
namespace customers::testing {

using namespace std::chrono_literals;

// Waits for a condition; false where it did not come true in time.
[[nodiscard]] bool eventually(const std::function<bool()>& condition);

class Stage : public ::testing::TestWithParam<std::string> {
protected:
    Stage();

    // Anew, on the same database: as after a restart.
    void open(ApplicationOptions options = {});
    [[nodiscard]] Application& application() { return *application_; }
    [[nodiscard]] LockDesk& desk() { return application_->desk(); }
    [[nodiscard]] const std::string& url() const { return url_; }

    [[nodiscard]] Person person(const std::string& name) { return {*application_, name}; }

    // The first field of the first row, by a connection of somebody else's program.
    std::string sql(const std::string& statement);
    [[nodiscard]] bool is_free(const leasehold::LockKey& key);

private:
    leasehold::testing::TemporaryFolder folder_;
    std::string url_;
    std::unique_ptr<Application> application_;
};

[[nodiscard]] inline auto by_name() {
    return [](const auto& info) { return info.param; };
}

}  // namespace customers::testing

#define ON_EVERY_DATABASE(Suite)                                                          \
    INSTANTIATE_TEST_SUITE_P(On, Suite,                                                   \
                             ::testing::Values("sqlite", "postgres", "mysql", "mariadb"), \
                             customers::testing::by_name())
