#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <variant>

#include "server/monitoring/observer.hpp"

namespace leasehold::server {

enum class LogLevel : std::uint8_t { debug, info, warning, error };
enum class LogFormat : std::uint8_t {
    automatic,  // text on a terminal, JSON otherwise
    text,
    json,
};

// The server's log on standard error: a line per event, for people or as JSON. Thread-safe. Writing
// never waits for the reader of standard error: if the lines are not taken, the oldest are dropped.
// Lines that still wait at destruction are written.
class Log final : public Observer {
public:
    struct Field {
        Field(std::string_view field, std::string_view text) : name{field}, value{text} {}
        Field(std::string_view field, std::integral auto number)
            : name{field}, value{static_cast<std::uint64_t>(number)} {}

        std::string_view name;
        std::variant<std::string_view, std::uint64_t> value;
    };
    using Fields = std::initializer_list<Field>;

    // Events that come often are written once in `between_repeats`, with their number.
    Log(LogLevel level, LogFormat format,
        std::chrono::milliseconds between_repeats = std::chrono::seconds{5});
    ~Log() override;

    void set_level(LogLevel level);

    void info(std::string_view message, Fields fields = {}) {
        write(LogLevel::info, message, fields);
    }
    void warning(std::string_view message, Fields fields = {}) {
        write(LogLevel::warning, message, fields);
    }
    void error(std::string_view message, Fields fields = {}) {
        write(LogLevel::error, message, fields);
    }

    // Writes a line for each request, at debug level.
    void served(const Served& request) noexcept override;
    // If many of these happen in a short time, the log has a line for the first one, and later a
    // line with the number of the others.
    void store_failed(const StoreFault& fault) noexcept override;
    void happened(ConnectionEvent event) noexcept override;
    void turned_away(std::string_view address) noexcept override;
    void failed(std::string_view what) noexcept override;
    // Writes a line when the store answers again.
    void batch_applied(const Batch& batch) noexcept override;

private:
    class Lines;

    void write(LogLevel level, std::string_view message, Fields fields);

    std::unique_ptr<Lines> lines_;
};

}  // namespace leasehold::server
