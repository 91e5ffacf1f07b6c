#include "locks/waiting_line.hpp"

#include <algorithm>

namespace customers {
namespace {

// How often to ask for locks that another process released or that expired.
constexpr std::chrono::milliseconds between_tries{500};
// How long a place is kept between two requests of one page.
constexpr std::chrono::seconds grace{3};

}  // namespace

std::optional<leasehold::Result<leasehold::Lease>> WaitingLine::wait(
    const leasehold::LockKey& key, const leasehold::LockOptions& options,
    leasehold::Duration patience) {
    const auto deadline = Clock::now() + std::min(patience, longest);
    std::unique_lock lock{mutex_};
    if (waiting_ >= most) return std::nullopt;
    ++waiting_;
    join(key, options);
    leasehold::Result<leasehold::Lease> answer = std::unexpected{leasehold::Refusal{}};
    try {
        for (;;) {
            forget_absent(key);
            if (!is_in_line(key, options.owner)) break;
            const bool next = is_next(key, options.owner);
            const std::size_t wakes_before = wakes_;
            const bool over = closed_ || Clock::now() >= deadline;
            if (next || over) {
                lock.unlock();
                answer = locks_.try_lock(key, options);
                lock.lock();
            }
            if (answer || over) break;
            changed_.wait_for(lock, between_tries, [&] { return wakes_ != wakes_before; });
        }
    } catch (...) {
        if (!lock.owns_lock()) lock.lock();
        --waiting_;
        leave(key, options.owner);
        throw;
    }
    --waiting_;
    leave(key, options.owner);
    if (answer) drop(key, options.owner);
    return answer;
}

void WaitingLine::dismiss(const leasehold::LockKey& key, leasehold::LockId lock_id) {
    {
        const std::scoped_lock lock{mutex_};
        const auto line = lines_.find(key);
        if (line == lines_.end()) return;
        std::erase_if(line->second, [&](const Waiter& w) { return w.lock_id == lock_id; });
        ++wakes_;
    }
    changed_.notify_all();
}

void WaitingLine::wake() {
    {
        const std::scoped_lock lock{mutex_};
        ++wakes_;
    }
    changed_.notify_all();
}

void WaitingLine::close() {
    {
        const std::scoped_lock lock{mutex_};
        closed_ = true;
        ++wakes_;
    }
    changed_.notify_all();
}

std::vector<std::string> WaitingLine::waiting_for(const leasehold::LockKey& key) {
    const std::scoped_lock lock{mutex_};
    forget_absent(key);
    std::vector<std::string> owners;
    if (const auto line = lines_.find(key); line != lines_.end()) {
        for (const Waiter& waiter : line->second) owners.push_back(waiter.owner);
    }
    return owners;
}

void WaitingLine::join(const leasehold::LockKey& key, const leasehold::LockOptions& options) {
    Line& line = lines_[key];
    auto place = std::ranges::find(line, options.owner, &Waiter::owner);
    if (place == line.end()) place = line.insert(line.end(), Waiter{.owner = options.owner});
    place->lock_id = options.lock_id.value_or(leasehold::LockId{});
    ++place->asking;
}

void WaitingLine::leave(const leasehold::LockKey& key, const std::string& owner) {
    const auto line = lines_.find(key);
    if (line == lines_.end()) return;
    const auto found = std::ranges::find(line->second, owner, &Waiter::owner);
    if (found == line->second.end()) return;
    if (found->asking > 0) --found->asking;
    found->seen_at = Clock::now();
}

void WaitingLine::drop(const leasehold::LockKey& key, const std::string& owner) {
    std::erase_if(lines_[key], [&](const Waiter& waiter) { return waiter.owner == owner; });
    forget_absent(key);
}

void WaitingLine::forget_absent(const leasehold::LockKey& key) {
    const auto line = lines_.find(key);
    if (line == lines_.end()) return;
    const auto now = Clock::now();
    std::erase_if(line->second, [&](const Waiter& waiter) {
        return waiter.asking == 0 && now - waiter.seen_at > grace;
    });
    if (line->second.empty()) lines_.erase(line);
}

bool WaitingLine::is_in_line(const leasehold::LockKey& key, const std::string& owner) const {
    const auto line = lines_.find(key);
    return line != lines_.end() &&
           std::ranges::find(line->second, owner, &Waiter::owner) != line->second.end();
}

bool WaitingLine::is_next(const leasehold::LockKey& key, const std::string& owner) const {
    const auto line = lines_.find(key);
    return line != lines_.end() && line->second.front().owner == owner;
}

}  // namespace customers
