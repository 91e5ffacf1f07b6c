#include "server/monitoring/log.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <string>

#include "support/process.hpp"
#include "unit/waiting.hpp"

namespace leasehold::testing {
namespace {

using server::ConnectionEvent;
using server::Log;

// What is written to standard error while this object lives.
class StandardError {
public:
    StandardError() : before_{::dup(STDERR_FILENO)} {
        const int file = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        ::dup2(file, STDERR_FILENO);
        ::close(file);
    }
    StandardError(const StandardError&) = delete;
    StandardError& operator=(const StandardError&) = delete;
    ~StandardError() {
        ::dup2(before_, STDERR_FILENO);
        ::close(before_);
    }

    [[nodiscard]] std::string text() const {
        std::ifstream file{path_};
        return {std::istreambuf_iterator<char>{file}, {}};
    }

private:
    TemporaryFolder folder_;
    const std::string path_ = folder_.path() / "log";
    const int before_;
};

TEST(ALog, TellsTheSizeOfAFloodThatIsOver) {
    const StandardError standard_error;
    Log log{server::LogLevel::info, server::LogFormat::json, std::chrono::milliseconds{20}};
    for (int i = 0; i < 4; ++i) log.happened(ConnectionEvent::slow_header);
    // Nothing happens any more.
    EXPECT_TRUE(eventually([&] {
        return standard_error.text().find("\"times\":3") != std::string::npos;
    })) << standard_error.text();
    EXPECT_NE(standard_error.text().find("\"times\":1"), std::string::npos);
}

TEST(ALog, TellsTheSizeOfAFloodWhenItEnds) {
    const StandardError standard_error;
    {
        Log log{server::LogLevel::info, server::LogFormat::json, std::chrono::hours{1}};
        for (int i = 0; i < 3; ++i) log.turned_away("203.0.113.7");
    }
    EXPECT_NE(standard_error.text().find("\"requests\":1"), std::string::npos);
    EXPECT_NE(standard_error.text().find("\"requests\":2"), std::string::npos);
}

TEST(ALog, HoldsNothingThatActsOnATerminal) {
    for (const auto format : {server::LogFormat::json, server::LogFormat::text}) {
        const StandardError standard_error;
        {
            Log log{server::LogLevel::info, format};
            log.warning("store", {{"warning", "a\x1b[2Jb\nc\u202Ed\u009Be"}});
            log.store_failed({StoreFault::Effect::none, StoreFault::Cause::unavailable,
                              "f\x1b]0;g\x07h\u202Ei"});
        }
        const std::string text = standard_error.text();
        EXPECT_TRUE(text.contains("\\u202e")) << text;
        EXPECT_EQ(std::ranges::count(text, '\n'), 2) << text;
        for (const char* raw : {"\x1b", "\x07", "\u202E", "\u009B"}) {
            EXPECT_FALSE(text.contains(raw)) << text;
        }
    }
}

TEST(ALog, TellsAllFaultsBeforeItSaysThatTheStoreAnswersAgain) {
    const StandardError standard_error;
    {
        Log log{server::LogLevel::info, server::LogFormat::json, std::chrono::hours{1}};
        const StoreFault fault{StoreFault::Effect::none, StoreFault::Cause::unavailable, "gone"};
        for (int i = 0; i < 3; ++i) log.store_failed(fault);
        log.batch_applied({.requests = 1});
    }
    const std::string text = standard_error.text();
    const std::size_t others = text.find("\"faults\":2");
    EXPECT_NE(others, std::string::npos) << text;
    EXPECT_LT(others, text.find("the store answers again")) << text;
}

}  // namespace
}  // namespace leasehold::testing
