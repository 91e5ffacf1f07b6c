#pragma once

#include <boost/asio/basic_waitable_timer.hpp>

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
#include "server/tasks.hpp"

namespace leasehold::server {

// Tells those who listen what happens to leases: at once what this server answers; what others do
// on the same store, and what expires, by asking the store now and then. Nobody listening, it does
// nothing. Thread-safe; works on the thread of its io_context.
class Reporter {
public:
    using Ask = std::function<Task<std::vector<Outcome>>(std::vector<Request>)>;

    // All outlive this. `ask` is used while somebody listens.
    Reporter(const Limits& limits, asio::io_context& home, const ServerOptions& options, Ask ask);
    Reporter(const Reporter&) = delete;
    Reporter& operator=(const Reporter&) = delete;
    ~Reporter();

    // What this server answered. The request may have been moved from.
    void answered(const Request& request, const Outcome& outcome) {
        if (listening_.load(std::memory_order_relaxed)) take(request, outcome);
    }
    void knocked(Event knock);

    // From when this is answered on nothing is missed. Or why there is no stream.
    using Opened = std::expected<std::unique_ptr<EventStream>, StoreFault>;
    [[nodiscard]] Task<Opened> open(EventFilter filter, std::optional<std::string> last_id,
                                    std::shared_ptr<const Token> token);
    [[nodiscard]] std::size_t listeners() const { return log_->listeners(); }

    // Ends the streams of tokens that may not listen any more.
    void end_if(const std::function<bool(const Token&)>& revoked) { log_->end_if(revoked); }

    // Ends every stream; whoever comes later is sent away.
    void close();

private:
    using Timer = asio::basic_waitable_timer<Clock, asio::wait_traits<Clock>, Executor>;
    using Begun = std::function<void(std::optional<StoreFault>)>;

    void take(const Request& request, const Outcome& outcome);
    void on_home(std::function<void()> use);
    void join(Begun begun);
    void answer_all(const std::optional<StoreFault>& fault);

    [[nodiscard]] Task<void> run();
    [[nodiscard]] Task<bool> begin();
    [[nodiscard]] Task<void> step();
    [[nodiscard]] Task<void> survey();
    [[nodiscard]] Task<void> look();
    enum class Past : std::uint8_t { latest, since_last_time };
    [[nodiscard]] Task<Ledger::Survey> ask_for_all(Past wanted);
    [[nodiscard]] Task<void> pause();
    [[nodiscard]] Clock::time_point next_step() const;
    [[nodiscard]] bool somebody_listens();
    [[nodiscard]] Time store_time() const;

    const Limits& limits_;
    asio::io_context& home_;
    const ServerOptions& options_;
    const Ask ask_;
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
