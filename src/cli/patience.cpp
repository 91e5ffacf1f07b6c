#include "cli/patience.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <random>

namespace leasehold::cli {
namespace {

using namespace std::chrono_literals;

constexpr Duration first_pause = 20ms;
constexpr Duration longest_pause = 500ms;

void sleep(Duration time, const std::stop_token& ended) {
    std::mutex mutex;
    std::condition_variable_any nothing;
    std::unique_lock lock{mutex};
    nothing.wait_for(lock, ended, time, [] { return false; });
}

// Many who wait must not ask in step.
Duration about(Duration time) {
    static thread_local std::minstd_rand random{std::random_device{}()};
    return Duration{std::uniform_int_distribution{time.count() / 2, time.count()}(random)};
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
    for (Duration pause = first_pause;; pause = std::min(pause * 3 / 2, longest_pause)) {
        try {
            auto answer = ask(std::chrono::floor<Duration>(until - SteadyClock::now()));
            const bool over = ended.stop_requested() || SteadyClock::now() >= until;
            if (answer || over || answer.error().kind == Refusal::Kind::gone) return answer;
        } catch (const StoreFault& fault) {
            const bool over = ended.stop_requested() || SteadyClock::now() >= until;
            if (over || !may_pass(fault)) throw;
        }
        sleep(std::min(about(pause), std::max<Duration>(until - SteadyClock::now(), 1ms)), ended);
    }
}

}  // namespace leasehold::cli
