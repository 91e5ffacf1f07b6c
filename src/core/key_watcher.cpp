#include "core/key_watcher.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>
#include <utility>
#include <vector>

#include "core/retry.hpp"

namespace leasehold {
namespace {

using namespace std::chrono_literals;

constexpr Duration gathering_time = 5ms;
// How long the watch stays open without a key.
constexpr Duration kept_open = 5s;

// Does not interrupt the wait that is under way.
const std::stop_source not_now{std::nostopstate};

}  // namespace

void KeyWatcher::add(const LockKey& key) noexcept try { take_in(key).request_stop(); } catch (...) {
    // Its tries ask once in a while.
}

std::stop_source KeyWatcher::take_in(const LockKey& key) {
    const std::lock_guard lock{mutex_};
    if (closed_ || has_none_) return not_now;
    if (!thread_.joinable()) {
        watch_ = open_();
        has_none_ = !watch_;
        if (has_none_) return not_now;
        thread_ = std::thread{[this] { run(); }};
    }
    keys_.insert(key);
    gathering_ = true;
    changed_.notify_all();
    return beginning_ ? not_now : wait_;
}

void KeyWatcher::remove(const LockKey& key) noexcept {
    const std::stop_source look = [&] {
        const std::lock_guard lock{mutex_};
        keys_.erase(key);
        return keys_.empty() && !beginning_ ? wait_ : not_now;
    }();
    look.request_stop();
}

void KeyWatcher::close() noexcept {
    std::thread thread;
    const std::stop_source look = [&] {
        const std::lock_guard lock{mutex_};
        closed_ = true;
        thread.swap(thread_);
        changed_.notify_all();
        return wait_;
    }();
    look.request_stop();
    if (thread.joinable()) thread.join();
}

bool KeyWatcher::watch_once(std::span<const LockKey> keys, const std::stop_token& stop) {
    try {
        if (!watch_) watch_ = open_();
        const std::vector<LockKey> ended = watch_->wait(keys, stop);
        if (!ended.empty()) tell_(ended);
        return true;
    } catch (const std::exception&) {
        // A fault of the store, or no memory.
        watch_.reset();
        return false;
    }
}

void KeyWatcher::run() {
    Retry retry{retries::watch};
    std::vector<LockKey> watched;  // sorted, as keys_ is
    std::unique_lock lock{mutex_};
    while (!closed_) {
        const auto is_needed = [&] { return closed_ || !keys_.empty(); };
        if (!is_needed()) {
            if (changed_.wait_for(lock, kept_open, is_needed)) continue;
            lock.unlock();
            watch_.reset();
            watched.clear();
            lock.lock();
            changed_.wait(lock, is_needed);
            continue;
        }
        if (gathering_) {
            changed_.wait_for(lock, gathering_time, [&] { return closed_; });
            gathering_ = false;
            continue;
        }
        std::vector<LockKey> keys;
        try {
            keys.assign(keys_.begin(), keys_.end());
            wait_ = std::stop_source{};
        } catch (const std::bad_alloc&) {
            changed_.wait_for(lock, *retry.next_pause(), [&] { return closed_; });
            continue;
        }
        beginning_ = !std::ranges::includes(watched, keys);
        const std::stop_token stop = wait_.get_token();
        lock.unlock();
        const bool succeeded = watch_once(keys, stop);
        lock.lock();
        watched = succeeded ? std::move(keys) : std::vector<LockKey>{};
        if (succeeded) {
            retry = Retry{retries::watch};
        } else {
            changed_.wait_for(lock, *retry.next_pause(), [&] { return closed_; });
        }
    }
}

}  // namespace leasehold
