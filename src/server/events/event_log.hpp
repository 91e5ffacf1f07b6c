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

#include <leasehold/key_set.hpp>
#include <leasehold/store.hpp>

#include "server/events/event.hpp"
#include "server/events/event_format.hpp"
#include "server/events/opaque_numbers.hpp"
#include "server/http/body_stream.hpp"

namespace leasehold::server {

class EventStream;

// Which events a client wants to receive.
struct EventFilter {
    std::optional<std::string> type{};
    std::optional<std::string> id{};
    std::optional<std::string> owner{};  // the owner of the leases
    OwnerScope scope = OwnerScope::exact;
    KeySet visible{};  // the keys that the client may see

    [[nodiscard]] bool admits(const Holder& lease) const;
};

// Keeps the latest events for the clients that listen, fewer of them if they are large. Each event
// is printed once for all clients with the same format. A client is lost if its next event is no
// longer kept: its stream ends, and the client starts again. Thread-safe.
class EventLog : public std::enable_shared_from_this<EventLog> {
public:
    // Keeps at most this many events, and at most `usual_bytes` for each of them on average.
    explicit EventLog(std::size_t kept);
    static constexpr std::size_t usual_bytes = 3 * 1024;
    EventLog(const EventLog&) = delete;
    EventLog& operator=(const EventLog&) = delete;
    ~EventLog();

    void append(const Event& event);
    // Events may have been missed. No client can continue from an event before this call.
    void break_off();

    // `last_id` is the id of the last event that the client has received, if the client sent one.
    // `still_allowed`, if there is one, says whether the client may still listen; it is called on
    // any thread while the client listens. nullptr if `most` clients listen already.
    [[nodiscard]] std::unique_ptr<EventStream> open(EventFilter filter,
                                                    const std::optional<std::string>& last_id,
                                                    std::function<bool()> still_allowed,
                                                    const EventFormat& format, std::size_t most);
    [[nodiscard]] std::size_t listeners() const;

    // Ends every stream, and says why.
    void close();
    // Ends the streams of clients whose token no longer allows them.
    void end_revoked();

private:
    friend class EventStream;

    struct Entry {
        Event event;
        std::size_t bytes;   // of the event and its text
        std::string text{};  // the event in this format
        const EventFormat* format = nullptr;
    };

    void wake_all();  // under mutex_
    // Says nothing about the number of events: a client may not see all of them. Under mutex_.
    [[nodiscard]] std::string id_of(std::uint64_t number);
    // The text of an event that is kept. Under mutex_.
    [[nodiscard]] const std::string& text_of(std::uint64_t number, const EventFormat& format);
    [[nodiscard]] Entry& entry(std::uint64_t number) {
        return entries_[entries_.size() - 1 - (last_ - number)];
    }
    // The number of the event with this id, if a client can continue after it.
    [[nodiscard]] std::optional<std::uint64_t> place_of(std::string_view id);
    [[nodiscard]] std::uint64_t first() const { return last_ + 1 - entries_.size(); }

    const std::size_t kept_;
    const std::string server_;  // begins every id, so that ids of other servers are recognised
    mutable std::mutex mutex_;
    OpaqueNumbers numbers_;      // guarded by mutex_
    std::deque<Entry> entries_;  // guarded by mutex_; at most kept_; the last is number last_
    std::size_t bytes_ = 0;      // guarded by mutex_; of all in entries_
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
    void end_if_revoked() override;
    void print_heartbeat(std::string& out) const override;

private:
    friend class EventLog;
    EventStream(std::shared_ptr<EventLog> log, EventFilter filter,
                std::function<bool()> still_allowed, const EventFormat& format)
        : log_{std::move(log)},
          filter_{std::move(filter)},
          still_allowed_{std::move(still_allowed)},
          format_{format} {}
    [[nodiscard]] State state_now() const;

    const std::shared_ptr<EventLog> log_;
    const EventFilter filter_;
    const std::function<bool()> still_allowed_;
    const EventFormat& format_;
    // Guarded by log_->mutex_:
    std::string greeting_;
    std::uint64_t place_ = 0;  // the number of the last event that take() has read
    bool told_ = false;        // the client was woken for events that it has not taken yet
    bool revoked_ = false;
    std::function<void()> wake_;
};

}  // namespace leasehold::server
