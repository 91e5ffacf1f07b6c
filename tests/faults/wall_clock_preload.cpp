// Preloaded into a program, sets its wall clock as another process chooses, see wall_clock.hpp.
// LEASEHOLD_WALL_CLOCK is the file with the offset. Reading the offset costs nothing, unlike with
// libfaketime: MySQL reads the clock so often that it would hardly answer.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

using Seconds = std::atomic<std::int64_t>;

std::int64_t offset() {
    static const Seconds* const mapped = [] {
        static const Seconds none = 0;
        const char* path = std::getenv("LEASEHOLD_WALL_CLOCK");
        const int file = path != nullptr ? ::open(path, O_RDONLY | O_CLOEXEC) : -1;
        void* at = file < 0 ? MAP_FAILED
                            : ::mmap(nullptr, sizeof(Seconds), PROT_READ, MAP_SHARED, file, 0);
        if (file >= 0) ::close(file);
        return at == MAP_FAILED ? &none : static_cast<const Seconds*>(at);
    }();
    return mapped->load(std::memory_order_relaxed);
}

template <class Function>
Function* next(const char* name) {
    return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

bool is_wall_clock(clockid_t clock) {
    return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
}

// Converts a time of the changed wall clock to the true wall clock.
timespec truly(timespec moment) {
    moment.tv_sec -= offset();
    return moment;
}

// A condition variable may wait by either clock. The steady clock counts from the start of the
// machine.
bool is_date(const timespec& moment) {
    constexpr std::time_t thirty_years = 946'080'000;
    return moment.tv_sec > thirty_years;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
    static auto* const original = next<int(clockid_t, timespec*)>("clock_gettime");
    const int result = original(clock, now);
    if (result == 0 && is_wall_clock(clock)) now->tv_sec += offset();
    return result;
}

int gettimeofday(timeval* now, void* zone) noexcept {
    static auto* const original = next<int(timeval*, void*)>("gettimeofday");
    const int result = original(now, zone);
    if (result == 0) now->tv_sec += offset();
    return result;
}

std::time_t time(std::time_t* into) noexcept {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    if (into != nullptr) *into = now.tv_sec;
    return now.tv_sec;
}

int timespec_get(timespec* now, int base) noexcept {
    static auto* const original = next<int(timespec*, int)>("timespec_get");
    const int result = original(now, base);
    if (result == TIME_UTC) now->tv_sec += offset();
    return result;
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                           const timespec* until) {
    static auto* const original =
        next<int(pthread_cond_t*, pthread_mutex_t*, const timespec*)>("pthread_cond_timedwait");
    const timespec moment = is_date(*until) ? truly(*until) : *until;
    return original(condition, mutex, &moment);
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const timespec* until) {
    static auto* const original =
        next<int(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)>(
            "pthread_cond_clockwait");
    const timespec moment = is_wall_clock(clock) ? truly(*until) : *until;
    return original(condition, mutex, clock, &moment);
}

}  // extern "C"
