#include "server/log.hpp"

#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>

#include <spdlog/async.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>
#include <string>

#include <leasehold/lock_id.hpp>

namespace leasehold::server {
namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

constexpr std::size_t waiting_lines = 8192;
constexpr std::chrono::seconds between_fault_lines{5};
constexpr std::size_t lock_id_letters = 36;

spdlog::level::level_enum level_of(LogLevel level) {
    switch (level) {
        case LogLevel::debug: return spdlog::level::debug;
        case LogLevel::info: return spdlog::level::info;
        case LogLevel::warning: return spdlog::level::warn;
        case LogLevel::error: return spdlog::level::err;
    }
    return spdlog::level::info;
}

std::string_view name_of(StoreFault::Cause cause) {
    switch (cause) {
        case StoreFault::Cause::unavailable: return "unavailable";
        case StoreFault::Cause::clock_leap: return "clock_leap";
        case StoreFault::Cause::configuration: return "configuration";
        case StoreFault::Cause::internal: return "internal";
    }
    return {};
}

// The first line of what a database said: further ones, and lock ids, quote what it was given.
std::string public_part(std::string text) {
    text.erase(std::min(text.find('\n'), text.size()));
    for (std::size_t at = 0; at + lock_id_letters <= text.size(); ++at) {
        if (LockId::parse(std::string_view{text}.substr(at, lock_id_letters))) {
            text.replace(at, lock_id_letters, "(a lock id)");
        }
    }
    return text;
}

bool is_plain(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) {
        return c > ' ' && c < '\x7f' && c != '"' && c != '=' && c != '\\';
    });
}

std::string json_of(const Log::Field& field) {
    if (const auto* number = std::get_if<std::uint64_t>(&field.value)) {
        return std::to_string(*number);
    }
    return json::serialize(json::string{std::get<std::string_view>(field.value)});
}

// "message  key=value  key="two words""
std::string as_text(std::string_view message, Log::Fields fields) {
    std::string line{message};
    for (const Log::Field& field : fields) {
        line.append("  ").append(field.name).append("=");
        const auto* text = std::get_if<std::string_view>(&field.value);
        line.append(text != nullptr && is_plain(*text) ? std::string{*text} : json_of(field));
    }
    return line;
}

// What stands in the object behind time and level.
std::string as_json(std::string_view message, Log::Fields fields) {
    std::string line = "\"message\":" + json::serialize(json::string{message});
    for (const Log::Field& field : fields) {
        line.append(",\"").append(field.name).append("\":").append(json_of(field));
    }
    return line;
}

}  // namespace

class Log::Lines {
public:
    Lines(LogLevel level, LogFormat format)
        : for_people_{format == LogFormat::text ||
                      (format == LogFormat::automatic && ::isatty(STDERR_FILENO) == 1)} {
        spdlog::sink_ptr sink;
        if (for_people_) {
            sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
            sink->set_pattern("%Y-%m-%d %H:%M:%S.%e %^%-7l%$ %v");
        } else {
            sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
            sink->set_formatter(std::make_unique<spdlog::pattern_formatter>(
                R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})",
                spdlog::pattern_time_type::utc));
        }
        logger_ = std::make_shared<spdlog::async_logger>(
            "", std::move(sink), thread_, spdlog::async_overflow_policy::overrun_oldest);
        logger_->set_level(level_of(level));
    }

    void set_level(LogLevel level) { logger_->set_level(level_of(level)); }

    [[nodiscard]] bool shows(LogLevel level) const { return logger_->should_log(level_of(level)); }

    void write(LogLevel level, std::string_view message, Fields fields) {
        if (!shows(level)) return;
        const std::string line = for_people_ ? as_text(message, fields) : as_json(message, fields);
        logger_->log(level_of(level), spdlog::string_view_t{line.data(), line.size()});
    }

    // How many faults there were since the last line, or nothing where it is too early for another.
    std::optional<std::size_t> faults_to_tell() {
        const auto now = Clock::now();
        const std::lock_guard lock{mutex_};
        ++faults_;
        if (now < next_fault_line_) return std::nullopt;
        next_fault_line_ = now + between_fault_lines;
        return std::exchange(faults_, 0);
    }

private:
    const bool for_people_;
    std::shared_ptr<spdlog::details::thread_pool> thread_ =
        std::make_shared<spdlog::details::thread_pool>(waiting_lines, 1);
    std::shared_ptr<spdlog::logger> logger_;

    std::mutex mutex_;
    Clock::time_point next_fault_line_{};  // guarded by mutex_
    std::size_t faults_ = 0;               // guarded by mutex_
};

Log::Log(LogLevel level, LogFormat format) : lines_{std::make_unique<Lines>(level, format)} {}

Log::~Log() = default;

void Log::set_level(LogLevel level) {
    lines_->set_level(level);
}

void Log::write(LogLevel level, std::string_view message, Fields fields) {
    lines_->write(level, message, fields);
}

void Log::served(const Served& request) noexcept {
    if (!lines_->shows(LogLevel::debug)) return;
    const auto microseconds =
        std::chrono::duration_cast<std::chrono::microseconds>(request.took).count();
    write(LogLevel::debug, "request",
          {{"method", request.method},
           {"route", request.route.empty() ? "unknown" : request.route},
           {"status", request.status},
           {"took_us", microseconds},
           {"bytes_in", request.bytes_in},
           {"bytes_out", request.bytes_out}});
}

void Log::store_failed(const StoreFault& fault) noexcept {
    const auto count = lines_->faults_to_tell();
    if (!count) return;
    const bool unknown = fault.effect() == StoreFault::Effect::unknown;
    warning("store fault", {{"fault", public_part(fault.what())},
                            {"cause", name_of(fault.cause())},
                            {"effect", unknown ? "unknown" : "none"},
                            {"faults", *count}});
}

}  // namespace leasehold::server
