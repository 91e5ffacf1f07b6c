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

// Which events a client wants.
struct EventFilter {
    std::optional<std::string> type{};
    std::optional<std::string> id{};
    std::optional<std::string> owner{};  // whose leases
    OwnerScope scope = OwnerScope::exact;

    [[nodiscard]] bool admits(const Holder& lease) const;
};

// The latest events, each printed once for all who listen; a client whose next event is not there
// any more is lost. Thread-safe.
class EventLog : public std::enable_shared_from_this<EventLog> {
public:
    explicit EventLog(std::size_t kept);
    EventLog(const EventLog&) = delete;
    EventLog& operator=(const EventLog&) = delete;
    ~EventLog();

    void append(const Event& event);
    // What happens from now on is not what comes next: nobody can go on from an event before this.
    void break_off();

    // `last_id` is of the last event that the client has seen, where it says so; `token` the one it
    // has shown, if any. Nothing where `most` listen already.
    [[nodiscard]] std::unique_ptr<EventStream> open(EventFilter filter,
                                                    const std::optional<std::string>& last_id,
                                                    std::shared_ptr<const Token> token,
                                                    std::size_t most);
    [[nodiscard]] std::size_t listeners() const;

    // Every stream ends, with a word of why.
    void close();
    // The same for the streams of tokens that may not listen any more.
    void end_if(const std::function<bool(const Token&)>& revoked);

private:
    friend class EventStream;

    struct Entry {
        Holder lease;
        std::string text;
    };

    void wake_all();  // under mutex_
    [[nodiscard]] std::string id_of(std::uint64_t number) const;
    // Where to go on after this event, if that can be done.
    [[nodiscard]] std::optional<std::uint64_t> place_of(std::string_view id) const;
    [[nodiscard]] std::uint64_t first() const { return last_ + 1 - entries_.size(); }

    const std::size_t kept_;
    const std::string server_;  // begins every id: another server's are not ours
    mutable std::mutex mutex_;
    std::deque<Entry> entries_;  // guarded by mutex_; at most kept_; the last is number last_
    std::uint64_t last_ = 0;     // guarded by mutex_
    std::unordered_set<EventStream*> listeners_;  // guarded by mutex_
    bool closed_ = false;                         // guarded by mutex_
};

// One client's events. It ends when the server stops, and when the token is revoked. Every function
// is called by one thread; on_news() says which one is not.
class EventStream final : public BodyStream {
public:
    ~EventStream() override;

    void on_news(std::function<void()> wake) override;
    State take(std::string& out) override;
    [[nodiscard]] State state() const override;
    // Also brings the client's place up to date.
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
    std::uint64_t place_ = 0;  // the last event that was looked at
    bool told_ = false;        // there is news, and the client knows
    bool revoked_ = false;
    std::function<void()> wake_;
};

}  // namespace leasehold::server
