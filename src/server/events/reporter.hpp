#pragma once

#include <atomic>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <leasehold/limits.hpp>
#include <leasehold/store.hpp>

#include "server/events/event_log.hpp"
#include "server/events/ledger.hpp"
#include "server/options.hpp"
#include "server/requests.hpp"
#include "server/store/store_queue.hpp"
#include "server/tasks.hpp"

namespace leasehold::server {

// Tells the clients that listen what happens to leases. Outcomes of this server are sent at once;
// the changes that other servers make, and expiries, are found by asking the store regularly. Does
// nothing while no client listens. Thread-safe; works on the thread of its io_context.
//
// 1. The first listener starts a survey: the list of all live leases and the end of the history.
//    The ledger makes no events of it, and the listener's stream begins.
// 2. Every outcome of this server goes to the ledger, which reports what has changed.
// 3. When a lease is due to expire, and when the ledger finds a contradiction, the store is asked
//    about that key, and its answer decides.
// 4. Every `events_poll` a new survey finds the changes of other servers.
// 5. `events_linger` after the last listener has gone, the reporter stops and forgets everything.
class Reporter final : public OutcomeListener {
public:
    // All outlive this.
    Reporter(StoreQueue& store, const Limits& limits, asio::io_context& home,
             const ServerOptions& options);
    ~Reporter() override;

    void answered(const Answered& answered) override {
        if (listening_.load(std::memory_order_relaxed)) take(answered);
    }
    void knocked(Event knock);

    // Opens a stream that contains every event from now on; a fault if the store cannot be read.
    // EventLog::open() describes the parameters.
    using Opened = std::expected<std::unique_ptr<EventStream>, StoreFault>;
    [[nodiscard]] Task<Opened> open(EventFilter filter, std::optional<std::string> last_id,
                                    std::function<bool()> still_allowed, const EventFormat& format);
    [[nodiscard]] std::size_t listeners() const { return log_->listeners(); }

    // Ends the streams of clients whose token no longer allows them.
    void end_revoked() { log_->end_revoked(); }

    // Ends every stream, and refuses new ones.
    void close();

private:
    using Begun = std::function<void(std::optional<StoreFault>)>;

    void take(const Answered& answered);
    void on_home(std::function<void()> use);
    void join(Begun begun);
    void answer_all(const std::optional<StoreFault>& fault);

    [[nodiscard]] Task<void> run();
    [[nodiscard]] Task<bool> begin();
    [[nodiscard]] Task<void> step();
    [[nodiscard]] Task<void> survey();
    [[nodiscard]] Task<void> work_off();
    [[nodiscard]] Task<void> look();
    enum class Past : std::uint8_t { latest, since_last_time };
    [[nodiscard]] Task<Ledger::Survey> ask_for_all(Past wanted);
    [[nodiscard]] Task<void> pause();
    [[nodiscard]] Clock::time_point next_step() const;
    [[nodiscard]] bool somebody_listens();
    [[nodiscard]] Time store_time() const;

    StoreQueue& store_;
    const Limits& limits_;
    asio::io_context& home_;
    const ServerOptions& options_;
    const std::shared_ptr<EventLog> log_;
    std::atomic<bool> listening_{false};
    std::atomic<std::size_t> opening_{0};  // whose streams are not in the log yet

    // Of the home thread:
    enum class Phase : std::uint8_t { silent, beginning, reporting, closed };
    Phase phase_ = Phase::silent;
    Ledger ledger_;
    Timer timer_;
    std::vector<Begun> openings_;  // until it has begun
    Clock::time_point next_survey_{};
    Clock::time_point next_look_{};
    Clock::time_point last_listened_{};
    Time store_now_{};  // the store's clock, and ours when we learnt that
    Clock::time_point learnt_at_{};
};

}  // namespace leasehold::server
