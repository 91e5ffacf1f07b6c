#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include <leasehold/store.hpp>

#include "server/events/event.hpp"
#include "server/http/body_stream.hpp"

namespace leasehold::server {

class EventStream;
struct Token;  // tokens.hpp

// Which events a client wants to receive.
struct EventFilter {
    std::optional<std::string> type{};
    std::optional<std::string> id{};
    std::optional<std::string> owner{};  // the owner of the leases
    OwnerScope scope = OwnerScope::exact;

    [[nodiscard]] bool admits(const Holder& lease) const;
};

// Keeps the latest events for the clients that listen. Each event is printed once for all clients.
// A client is lost if its next event is no longer kept: its stream ends, and the client starts
// again. Thread-safe.
class EventLog : public std::enable_shared_from_this<EventLog> {
public:
    explicit EventLog(std::size_t kept);
    EventLog(const EventLog&) = delete;
    EventLog& operator=(const EventLog&) = delete;
    ~EventLog();

    void append(const Event& event);
    // Events may have been missed. No client can continue from an event before this call.
    void break_off();

    // `last_id` is the id of the last event that the client has received, if the client sent one.
    // `token` is the client's token, if it has one. nullptr if `most` clients listen already.
    [[nodiscard]] std::unique_ptr<EventStream> open(EventFilter filter,
                                                    const std::optional<std::string>& last_id,
                                                    std::shared_ptr<const Token> token,
                                                    std::size_t most);
    [[nodiscard]] std::size_t listeners() const;

    // Ends every stream, with a comment that says why.
    void close();
    // Ends the streams of tokens that may no longer listen.
    void end_if(const std::function<bool(const Token&)>& revoked);

private:
    friend class EventStream;

    struct Entry {
        Holder lease;
        std::string text;
    };

    void wake_all();  // under mutex_
    [[nodiscard]] std::string id_of(std::uint64_t number) const;
    // The number of the event with this id, if a client can continue after it.
    [[nodiscard]] std::optional<std::uint64_t> place_of(std::string_view id) const;
    [[nodiscard]] std::uint64_t first() const { return last_ + 1 - entries_.size(); }

    const std::size_t kept_;
    const std::string server_;  // begins every id, so that ids of other servers are recognised
    mutable std::mutex mutex_;
    std::deque<Entry> entries_;  // guarded by mutex_; at most kept_; the last is number last_
    std::uint64_t last_ = 0;     // guarded by mutex_
    std::unordered_set<EventStream*> listeners_;  // guarded by mutex_
    bool closed_ = false;                         // guarded by mutex_
};

// The events of one client. The stream ends when the server stops or the client's token is revoked.
// All functions are called by one thread. Another thread may call the function that was passed to
// on_news().
class EventStream final : public BodyStream {
public:
    ~EventStream() override;

    void on_news(std::function<void()> wake) override;
    State take(std::string& out) override;
    [[nodiscard]] State state() const override;
    // The heartbeat's id tells the client how far it has read, also past events it did not want.
    void print_heartbeat(std::string& out) const override;

private:
    friend class EventLog;
    EventStream(std::shared_ptr<EventLog> log, EventFilter filter,
                std::shared_ptr<const Token> token)
        : log_{std::move(log)}, filter_{std::move(filter)}, token_{std::move(token)} {}
    [[nodiscard]] State state_now() const;

    const std::shared_ptr<EventLog> log_;
    const EventFilter filter_;
    const std::shared_ptr<const Token> token_;
    // Guarded by log_->mutex_:
    std::string greeting_;
    std::uint64_t place_ = 0;  // the number of the last event that take() has read
    bool told_ = false;        // the client was woken for events that it has not taken yet
    bool revoked_ = false;
    std::function<void()> wake_;
};

}  // namespace leasehold::server
