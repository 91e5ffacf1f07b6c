#include "server/access/audit.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <leasehold/errors.hpp>
#include <leasehold/time.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>
#include <system_error>
#include <utility>

#include "core/out_of_memory.hpp"
#include "core/secret_file.hpp"
#include "core/text.hpp"
#include "server/monitoring/observer.hpp"
#include "wire/json.hpp"

namespace leasehold::server {
namespace {

namespace json = boost::json;

int opened(const std::string& path) {
    const auto file = open_private_log(path);
    if (file) return *file;
    throw BadRequest{"the audit file '" + path + "' cannot be used: " + file.error()};
}

std::string random_prefix() {
    std::array<unsigned char, 4> bytes{};
    if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
        throw std::system_error{errno, std::generic_category(), "getrandom"};
    }
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const unsigned char byte : bytes) text.append({digits[byte >> 4U], digits[byte & 15U]});
    return text;
}

Time now_by_the_wall() {
    return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
}

json::object object_of(const AuditEvent& event) {
    json::object line;
    line["time"] = wire::to_json(now_by_the_wall());
    line["action"] = event.action;
    line["outcome"] = event.outcome;
    const auto add = [&line](std::string_view name, const std::string& text) {
        if (!text.empty()) line[name] = text;
    };
    add("token", event.token);
    add("token_id", event.token_id);
    add("address", event.address);
    add("request_id", event.request_id);
    if (event.status != 0) line["status"] = event.status;
    for (const auto& [name, value] : event.facts) line[name] = value;
    return line;
}

// Events that a client can cause without end. Those without an address happen once per signal.
bool is_limited(const AuditEvent& event) {
    return !event.address.empty() && !event.changed_leases;
}

std::uint64_t lines_in(std::string_view text) {
    return static_cast<std::uint64_t>(std::ranges::count(text, '\n'));
}

}  // namespace

Audit::Audit(std::string path, Observer& observer) : Audit{std::move(path), observer, Limits{}} {}

Audit::Audit(std::string path, Observer& observer, Limits limits)
    : path_{std::move(path)},
      observer_{observer},
      limits_{limits},
      name_{random_prefix()},
      clients_{limits.clients},
      administrators_{limits.clients},
      file_{opened(path_)},
      thread_{[this](const std::stop_token& stop) { run(stop); }} {}

Audit::~Audit() {
    thread_.request_stop();
    thread_.join();
    std::unique_lock lock{mutex_};
    do_for_certain([&] {
        tell_counts(Clock::time_point::max());
        write_pending(lock);
    });
    ::close(file_);
}

std::string Audit::next_request_id() {
    const std::lock_guard lock{mutex_};
    return name_ + '-' + std::to_string(++requests_);
}

std::uint64_t Audit::lines_written() const {
    const std::lock_guard lock{mutex_};
    return written_;
}

std::uint64_t Audit::lines_lost() const {
    const std::lock_guard lock{mutex_};
    return lost_;
}

void Audit::record(AuditEvent event) noexcept try {
    const std::lock_guard lock{mutex_};
    const auto now = Clock::now();
    if (is_limited(event)) {
        std::string kind = std::string{event.action} + ' ' + std::string{event.outcome} + ' ' +
                           std::to_string(event.status) + ' ';
        const Rate& rate = event.action == "access" ? limits_.refusals : limits_.acts;
        const std::string& who = event.token_id.empty() ? event.address : event.token_id;
        Buckets& buckets = event.by_administrator ? administrators_ : clients_;
        if (buckets.take(kind + who, rate, 1, now)) {
            const bool known = left_out_.contains(kind + who);
            const std::size_t room = (event.by_administrator ? 2 : 1) * limits_.clients;
            if (!known && left_out_.size() >= room) {
                event.token = event.token_id = event.address = {};
            } else {
                kind += who;
            }
            LeftOut& left = left_out_[kind];
            if (left.count++ > 0) return;
            event.facts = {};
            left.first = std::move(event);
            left.told_at = now + limits_.between_counts;
            changed_.notify_all();
            return;
        }
    }
    add_line(event);
} catch (const std::exception&) {
    // Out of memory.
    const std::lock_guard lock{mutex_};
    ++lost_;
    ++lost_untold_;
}

std::size_t Audit::most_pending_for(const AuditEvent& event) const {
    const std::size_t eighth = limits_.pending_bytes / 8;
    if (event.by_administrator) return (event.changed_leases ? 8 : 7) * eighth;
    return (event.changed_leases ? 6 : 4) * eighth;
}

void Audit::add_line(const AuditEvent& event) {
    const std::string text = harmless_json(wire::print(object_of(event))) + '\n';
    if (pending_.size() + text.size() > most_pending_for(event)) {
        ++lost_;
        ++lost_untold_;
        return;
    }
    pending_ += text;
    changed_.notify_all();
}

void Audit::tell_counts(Clock::time_point now) {
    for (auto at = left_out_.begin(); at != left_out_.end();) {
        if (at->second.told_at > now) {
            ++at;
            continue;
        }
        AuditEvent event = at->second.first;
        event.request_id.clear();
        event.facts = {{"left_out", at->second.count}};
        add_line(event);
        at = left_out_.erase(at);
    }
}

void Audit::run(const std::stop_token& stop) {
    std::unique_lock lock{mutex_};
    while (!stop.stop_requested()) {
        const auto has_work = [this] { return !pending_.empty(); };
        if (left_out_.empty()) {
            changed_.wait(lock, stop, [&] { return has_work() || !left_out_.empty(); });
        } else {
            const auto next = std::ranges::min_element(left_out_, {}, [](const auto& one) {
                                  return one.second.told_at;
                              })->second.told_at;
            changed_.wait_until(lock, stop, next, has_work);
        }
        try {
            tell_counts(Clock::now());
            write_pending(lock);
        } catch (const std::bad_alloc&) {
            changed_.wait_for(lock, stop, retries::no_memory.longest_pause, [] { return false; });
        }
    }
}

// Without memory nothing has changed.
void Audit::write_pending(std::unique_lock<std::mutex>& lock) {
    if (pending_.empty()) return;
    const std::uint64_t told = lost_untold_;
    std::string about_lost;
    if (told > 0) {
        about_lost = wire::print(json::object{{"time", wire::to_json(now_by_the_wall())},
                                              {"action", "audit"},
                                              {"outcome", "failed"},
                                              {"lost", told}});
        about_lost += '\n';
    }
    const std::string text = std::exchange(pending_, {});
    const std::uint64_t lines = lines_in(text);
    const std::array<std::string_view, 3> parts{line_torn_ ? "\n" : "", text, about_lost};
    std::array<std::string_view, 3> rest = parts;
    const int file = file_;
    writing_ = true;
    lock.unlock();
    int error = 0;
    for (std::string_view& part : rest) {
        while (!part.empty() && error == 0) {
            const ssize_t got = ::write(file, part.data(), part.size());
            if (got >= 0)
                part.remove_prefix(static_cast<std::size_t>(got));
            else if (errno != EINTR)
                error = errno;
        }
    }
    lock.lock();
    writing_ = false;
    changed_.notify_all();
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const std::string_view written = parts[i].substr(0, parts[i].size() - rest[i].size());
        if (!written.empty()) line_torn_ = written.back() != '\n';
    }
    const std::uint64_t lost = lines_in(rest[1]);
    written_ += lines - lost;
    lost_ += lost;
    lost_untold_ += lost;
    if (error == 0) lost_untold_ -= told;
    if (!std::exchange(fails_, error != 0) && error != 0) {
        lock.unlock();
        tell_failure(error);
        lock.lock();
    }
}

void Audit::tell_failure(int error) noexcept try {
    observer_.failed("the audit file '" + path_ +
                     "' cannot be written: " + std::generic_category().message(error));
} catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): the metric counts the lost lines
}

void Audit::reopen() {
    const int file = opened(path_);
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [this] { return !writing_; });
    ::close(std::exchange(file_, file));
}

}  // namespace leasehold::server
