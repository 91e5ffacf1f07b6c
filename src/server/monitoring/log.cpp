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
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <leasehold/lock_id.hpp>

#include "core/enum_names.hpp"
#include "core/enum_table.hpp"
#include "core/text.hpp"
#include "server/monitoring/connection_events.hpp"

namespace leasehold::server {
namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

constexpr std::size_t waiting_lines = 8192;
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

// The first line of a database's error, without lock ids. Further lines quote values.
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

// In quotes. Nothing in it acts on a terminal that shows the log.
std::string json_text(std::string_view text) {
    return harmless_json(json::serialize(json::string{text}));
}

std::string json_of(const Log::Field& field) {
    if (const auto* number = std::get_if<std::uint64_t>(&field.value)) {
        return std::to_string(*number);
    }
    return json_text(std::get<std::string_view>(field.value));
}

// "message  key=value  key="two words""
std::string as_text(std::string_view message, Log::Fields fields) {
    std::string line = harmless(message);
    for (const Log::Field& field : fields) {
        line.append("  ").append(field.name).append("=");
        const auto* text = std::get_if<std::string_view>(&field.value);
        line.append(text != nullptr && is_plain(*text) ? std::string{*text} : json_of(field));
    }
    return line;
}

// The members of the object after time and level.
std::string as_json(std::string_view message, Log::Fields fields) {
    std::string line = "\"message\":" + json_text(message);
    for (const Log::Field& field : fields) {
        line.append(",\"").append(field.name).append("\":").append(json_of(field));
    }
    return line;
}

// Limits the lines about events that may come very often. The first event of a kind is written at
// once. Later ones are counted, and one line tells their number when the interval is over, even if
// no more come. Thread-safe.
class Floods {
public:
    using Write = std::function<void(std::size_t events)>;

    // The events of one kind. Guarded by the mutex of Floods, and outlives it.
    struct Kind {
        Clock::time_point next{};  // when a line may be written again
        std::size_t count = 0;     // since the last line
        Write write{};             // of the first of them
    };

    explicit Floods(Clock::duration between) : between_{between} {}
    Floods(const Floods&) = delete;
    Floods& operator=(const Floods&) = delete;
    ~Floods() {
        thread_.request_stop();
        if (thread_.joinable()) thread_.join();
        std::unique_lock lock{mutex_};
        while (!counted_.empty()) tell(*counted_.front(), lock);
    }

    // `make` makes the function that writes the line.
    template <class Make>
    void add(Kind& kind, Make make) noexcept try {
        std::unique_lock lock{mutex_};
        if (kind.count == 0 && Clock::now() >= kind.next) {
            kind.next = Clock::now() + between_;
            lock.unlock();
            make()(1);
            return;
        }
        if (kind.count == 0) {
            if (!thread_.joinable()) {
                thread_ = std::jthread{[this](const std::stop_token& stop) { run(stop); }};
            }
            kind.write = make();
            counted_.push_back(&kind);
            changed_.notify_one();
        }
        ++kind.count;
    } catch (const std::exception&) {
        // For lack of memory, or of a thread, this event is not written.
    }

    // Writes the number of the counted events now.
    void flush(Kind& kind) {
        std::unique_lock lock{mutex_};
        if (kind.count > 0) tell(kind, lock);
    }

private:
    void tell(Kind& kind, std::unique_lock<std::mutex>& lock) {
        std::erase(counted_, &kind);
        const Write write = std::exchange(kind.write, {});
        const std::size_t count = std::exchange(kind.count, 0);
        kind.next = Clock::now() + between_;
        lock.unlock();
        try {
            write(count);
        } catch (const std::exception&) {
            // There is no memory for the line.
        }
        lock.lock();
    }

    void run(const std::stop_token& stop) {
        std::unique_lock lock{mutex_};
        while (!stop.stop_requested()) {
            if (!changed_.wait(lock, stop, [this] { return !counted_.empty(); })) return;
            Kind& first = **std::ranges::min_element(counted_, {}, &Kind::next);
            if (Clock::now() >= first.next) {
                tell(first, lock);
            } else {
                // By value: flush() may move the kind's own while this thread waits.
                const Clock::time_point next = first.next;
                changed_.wait_until(lock, stop, next, [] { return false; });
            }
        }
    }

    const Clock::duration between_;
    std::mutex mutex_;
    std::vector<Kind*> counted_;  // guarded by mutex_; the kinds with a count
    std::condition_variable_any changed_;
    std::jthread thread_;
};

}  // namespace

class Log::Lines {
public:
    Lines(LogLevel level, LogFormat format, Clock::duration between)
        : for_people_{format == LogFormat::text ||
                      (format == LogFormat::automatic && ::isatty(STDERR_FILENO) == 1)},
          floods{between} {
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

    // A line for which there is no memory is dropped.
    void write(LogLevel level, std::string_view message, Fields fields) noexcept try {
        if (!shows(level)) return;
        const std::string line = for_people_ ? as_text(message, fields) : as_json(message, fields);
        logger_->log(level_of(level), spdlog::string_view_t{line.data(), line.size()});
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): nobody could be told
    }

    Floods::Kind faults;
    Floods::Kind strangers;
    EnumArray<ConnectionEvent, Floods::Kind> events;
    std::atomic<bool> store_fails{false};

private:
    const bool for_people_;
    std::shared_ptr<spdlog::logger> logger_;
    // Writes the logger's lines, and is joined before the logger ends.
    std::shared_ptr<spdlog::details::thread_pool> thread_ =
        std::make_shared<spdlog::details::thread_pool>(waiting_lines, 1);

public:
    Floods floods;  // writes when it ends
};

Log::Log(LogLevel level, LogFormat format, std::chrono::milliseconds between_repeats)
    : lines_{std::make_unique<Lines>(level, format, between_repeats)} {}

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
    lines_->store_fails = true;
    lines_->floods.add(lines_->faults, [&] {
        return [this, fault](std::size_t faults) {
            warning("store fault", {{"fault", public_part(fault.what())},
                                    {"cause", cause_names[fault.cause()]},
                                    {"effect", effect_names[fault.effect()]},
                                    {"faults", faults}});
        };
    });
}

void Log::batch_applied(const Batch& batch) noexcept {
    if (!lines_->store_fails.load(std::memory_order_relaxed) || batch.faults > 0) return;
    if (!lines_->store_fails.exchange(false)) return;
    lines_->floods.flush(lines_->faults);
    info("the store answers again");
}

void Log::happened(ConnectionEvent event) noexcept {
    const std::string_view message = connection_events[event].line;
    if (message.empty()) return;
    lines_->floods.add(lines_->events[event], [&] {
        return [this, message](std::size_t times) { warning(message, {{"times", times}}); };
    });
}

void Log::turned_away(std::string_view address) noexcept {
    lines_->floods.add(lines_->strangers, [&] {
        return [this, from = std::string{address}](std::size_t requests) {
            warning("requests without a valid token", {{"address", from}, {"requests", requests}});
        };
    });
}

void Log::failed(std::string_view what) noexcept {
    error("something went wrong; the server goes on", {{"error", what}});
}

}  // namespace leasehold::server
