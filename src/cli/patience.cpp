#include "cli/patience.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>

#include "core/retry.hpp"

namespace leasehold::cli {
namespace {

void sleep(Duration time, const std::stop_token& ended) {
    std::mutex mutex;
    std::condition_variable_any nothing;
    std::unique_lock lock{mutex};
    nothing.wait_for(lock, ended, time, [] { return false; });
}

// Whether asking again can help.
bool may_pass(const StoreFault& fault) {
    switch (fault.cause()) {
        case StoreFault::Cause::configuration:
        case StoreFault::Cause::not_allowed:
        case StoreFault::Cause::lock_id_in_use: return false;
        default: return true;
    }
}

}  // namespace

Result<std::vector<Lease>> ask_patiently(
    Duration patience, const std::stop_token& ended,
    const std::function<Result<std::vector<Lease>>(Duration left)>& ask) {
    const auto until = SteadyClock::now() + patience;
    Retry retry{retries::held_lock, until};
    for (;;) {
        std::optional<Duration> pause;
        try {
            auto answer = ask(std::chrono::floor<Duration>(until - SteadyClock::now()));
            if (answer || answer.error().kind == Refusal::Kind::gone) return answer;
            if (!ended.stop_requested()) pause = retry.next_pause();
            if (!pause) return answer;
        } catch (const StoreFault& fault) {
            if (!ended.stop_requested() && may_pass(fault)) pause = retry.next_pause();
            if (!pause) throw;
        }
        sleep(*pause, ended);
    }
}

}  // namespace leasehold::cli
