#pragma once

#include <boost/json/object.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "server/access/rates.hpp"

namespace leasehold::server {

class Observer;

// Something that the audit records.
struct AuditEvent {
    // "break", "release_all", "purge", "access", "tokens", "configuration", "start", "stop"
    std::string_view action{};
    std::string_view outcome{};  // "done", "refused", "failed", "unknown"
    // Of the client, if a client caused the event.
    std::string token{};  // the token's name; empty if it has none
    std::string token_id{};
    std::string address{};
    std::string request_id{};
    unsigned status = 0;  // of the reply, for a refused access
    // The event ended leases or forgot some, or may have. Never left out.
    bool changed_leases = false;
    // An administrator's act, such as a break or a reload. Clients cannot hide it.
    bool by_administrator = false;
    boost::json::object facts{};
};

// The audit: an append-only file with one JSON line for each event, beside the log. Names keys,
// owners and tokens' names, but never a token or a lock id. Thread-safe. Recording never waits for
// the disk.
//
// 1. What changed leases is always written. The quotas of the clients that take leases bound it.
// 2. Of the rest, each client (its token, or else its address) may write a few lines of a kind at
//    once, and more at a steady rate. Further events of that kind are counted. A kind is an action,
//    its outcome and its status.
// 3. A line with "left_out" tells their number a few seconds later. So the lines and the numbers
//    together are the number of all events, and no client can fill the disk.
// 4. Administrators have rates, counts and room of their own, so that no other client's lines push
//    theirs out.
// 5. If the file cannot be written, the lines are counted as lost, the observer learns of it, and
//    the server continues. The first line that can be written afterwards tells how many were lost.
class Audit {
public:
    struct Limits {
        Rate refusals{.per_second = 0.2, .at_once = 5};
        Rate acts{.per_second = 100, .at_once = 1000};
        // How long events are counted before a line tells their number.
        std::chrono::milliseconds between_counts = std::chrono::seconds{5};
        std::size_t clients = 10'000;  // more clients share one count
        // That wait to be written; more are lost. The last half is for what changed leases, and the
        // last quarter only for administrators: a client can release its own leases as often as it
        // takes them, and must not hide a break behind them.
        std::size_t pending_bytes = 8 * 1024 * 1024;
    };

    // Opens the file, and creates it with mode 0600. The observer outlives this. Throws BadRequest
    // if it cannot be opened, is not a regular file, or belongs to another user.
    Audit(std::string path, Observer& observer);
    Audit(std::string path, Observer& observer, Limits limits);
    Audit(const Audit&) = delete;
    Audit& operator=(const Audit&) = delete;
    // Writes everything that was recorded.
    ~Audit();

    void record(AuditEvent event) noexcept;

    // Opens the file again, which may have been renamed to rotate it. Throws BadRequest and
    // continues with the old file if that fails.
    void reopen();

    // Names a request in the audit and in its reply.
    [[nodiscard]] std::string next_request_id();

    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    // Lines since the start.
    [[nodiscard]] std::uint64_t lines_written() const;
    [[nodiscard]] std::uint64_t lines_lost() const;

private:
    using Clock = std::chrono::steady_clock;

    // Events that were counted instead of written.
    struct LeftOut {
        AuditEvent first{};
        std::size_t count = 0;
        Clock::time_point told_at{};  // when a line tells the count
    };

    void run(const std::stop_token& stop);
    void tell_failure(int error) noexcept;
    // The most pending bytes with which the event still finds room.
    [[nodiscard]] std::size_t most_pending_for(const AuditEvent& event) const;
    // Under mutex_:
    void add_line(const AuditEvent& event);
    void tell_counts(Clock::time_point now);
    void write_pending(std::unique_lock<std::mutex>& lock);

    const std::string path_;
    Observer& observer_;
    const Limits limits_;
    const std::string name_;  // begins every request id
    Buckets clients_;
    Buckets administrators_;
    mutable std::mutex mutex_;
    int file_;                                              // guarded by mutex_
    std::string pending_;                                   // guarded by mutex_
    std::map<std::string, LeftOut, std::less<>> left_out_;  // guarded by mutex_
    std::uint64_t requests_ = 0;                            // guarded by mutex_
    std::uint64_t written_ = 0;                             // guarded by mutex_
    std::uint64_t lost_ = 0;                                // guarded by mutex_
    std::uint64_t lost_untold_ = 0;                         // guarded by mutex_
    bool fails_ = false;                                    // guarded by mutex_
    bool line_torn_ = false;                                // guarded by mutex_
    bool writing_ = false;                                  // guarded by mutex_
    std::condition_variable_any changed_;
    std::jthread thread_;
};

}  // namespace leasehold::server
