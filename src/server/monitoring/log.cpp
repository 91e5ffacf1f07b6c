#include "server/monitoring/log.hpp"

#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>

#include <spdlog/async.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <string>

#include <leasehold/lock_id.hpp>

#include "core/enum_table.hpp"
#include "server/monitoring/names.hpp"

namespace leasehold::server {
namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

constexpr std::size_t waiting_lines = 8192;
constexpr std::chrono::seconds between_such_lines{5};
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

// The line of each event; empty for events that are not logged.
constexpr EnumTable<ConnectionEvent, std::string_view> lines_of_events{
    {{ConnectionEvent::accepted, ""},
     {ConnectionEvent::ended, ""},
     {ConnectionEvent::turned_away, "connection turned away: the limit of connections is reached"},
     {ConnectionEvent::accepting_paused,
      "accepting paused: a connection could not be opened, perhaps for lack of file descriptors"},
     {ConnectionEvent::no_handshake, "connection cut: the TLS handshake failed"},
     {ConnectionEvent::slow_header, "connection cut: the request's header was late"},
     {ConnectionEvent::slow_body, "connection cut: the request's body was late"},
     {ConnectionEvent::slow_reader, "connection cut: the client did not take its answer"},
     {ConnectionEvent::idle, ""}}};

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

// What may happen very often is told now and then.
class Seldom {
public:
    // How many there were since it was told, with this one; nothing where it is too early to tell.
    std::optional<std::size_t> one_more() {
        const auto now = Clock::now();
        const std::lock_guard lock{mutex_};
        ++count_;
        if (now < next_) return std::nullopt;
        next_ = now + between_such_lines;
        return std::exchange(count_, 0);
    }

private:
    std::mutex mutex_;
    Clock::time_point next_{};  // guarded by mutex_
    std::size_t count_ = 0;     // guarded by mutex_
};

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

    Seldom faults;
    Seldom strangers;
    EnumArray<ConnectionEvent, Seldom> events;
    std::atomic<bool> fault_told{false};  // and not yet that the store answers again

private:
    const bool for_people_;
    std::shared_ptr<spdlog::details::thread_pool> thread_ =
        std::make_shared<spdlog::details::thread_pool>(waiting_lines, 1);
    std::shared_ptr<spdlog::logger> logger_;
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
           {"bytes_out", request.bytes_out},
           {"token", request.token}});
}

void Log::store_failed(const StoreFault& fault) noexcept {
    const auto count = lines_->faults.one_more();
    if (!count) return;
    lines_->fault_told = true;
    warning("store fault", {{"fault", public_part(fault.what())},
                            {"cause", name_of(fault.cause())},
                            {"effect", name_of(fault.effect())},
                            {"faults", *count}});
}

void Log::batch_applied(const Batch& batch) noexcept {
    if (!lines_->fault_told.load(std::memory_order_relaxed) || batch.faults > 0) return;
    if (lines_->fault_told.exchange(false)) info("the store answers again");
}

void Log::happened(ConnectionEvent event) noexcept {
    const std::string_view message = lines_of_events[event];
    if (message.empty()) return;
    const auto count = lines_->events[event].one_more();
    if (count) warning(message, {{"times", *count}});
}

void Log::turned_away(std::string_view address) noexcept {
    const auto count = lines_->strangers.one_more();
    if (!count) return;
    warning("requests without a valid token", {{"address", address}, {"requests", *count}});
}

void Log::failed(std::string_view what) noexcept {
    error("something went wrong; the server goes on", {{"error", what}});
}

}  // namespace leasehold::server
