#include <leasehold/lock_id.hpp>
#include <leasehold/request.hpp>

#include <array>
#include <charconv>
#include <ctime>
#include <span>
#include <utility>

#include <pthread.h>

#include "core/keyed_hash.hpp"
#include "core/random.hpp"

namespace leasehold {
namespace {

// Random words from the operating system, fetched a page at a time. A fork throws the page away, so
// that parent and child never draw the same ones.
class RandomWords {
public:
    std::uint64_t next() {
        if (used_ == words_.size() || forks_seen_ != forks()) refill();
        return std::exchange(words_[used_++], 0);
    }

private:
    static std::uint64_t& forks() {
        static std::uint64_t count = [] {
            pthread_atfork(nullptr, nullptr, [] { ++forks(); });
            return 0;
        }();
        return count;
    }

    void refill() {
        fill_with_random(std::as_writable_bytes(std::span{words_}));
        used_ = 0;
        forks_seen_ = forks();
    }

    std::array<std::uint64_t, 64> words_{};
    std::size_t used_ = words_.size();
    std::uint64_t forks_seen_ = 0;
};

// In units of 2^22 ns.
std::uint64_t coarse_time() {
    timespec now{};
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    constexpr std::uint64_t nanoseconds = 1'000'000'000;
    return (static_cast<std::uint64_t>(now.tv_sec) * nanoseconds +
            static_cast<std::uint64_t>(now.tv_nsec)) >>
           22;
}

// The hexadecimal digits of a UUID, between dashes.
struct Group {
    std::size_t at;
    std::size_t digits;
};
constexpr std::array groups{Group{0, 8}, Group{9, 4}, Group{14, 4}, Group{19, 4}, Group{24, 12}};
constexpr std::size_t uuid_length = 36;

}  // namespace

// 32 bits of time in units of about 4 ms, then 90 random bits: a UUID of version 8. The time wraps
// around after 200 days; the only effect is that index entries are less well ordered for a while.
LockId LockId::random() {
    thread_local RandomWords words;
    constexpr std::uint64_t version_mask = 0xF000, version_8 = 0x8000;
    constexpr std::uint64_t variant_mask = 0xC0ULL << 56, variant_rfc = 0x80ULL << 56;
    constexpr std::uint64_t random_below_time = 0xFFFF'FFFF;
    const std::uint64_t time = coarse_time() << 32;
    return {time | (words.next() & random_below_time & ~version_mask) | version_8,
            (words.next() & ~variant_mask) | variant_rfc};
}

std::expected<LockId, std::string> LockId::parse(std::string_view text) {
    // The text may be somebody's secret, so no message repeats it.
    const auto refuse = [] {
        return std::unexpected{
            std::string{"a lock id is a UUID: 32 hexadecimal digits, 8-4-4-4-12"}};
    };
    if (text.size() != uuid_length) return refuse();
    std::array<std::uint64_t, groups.size()> parts{};
    for (std::size_t i = 0; i < groups.size(); ++i) {
        const char* const begin = text.data() + groups[i].at;
        const char* const end = begin + groups[i].digits;
        if (std::from_chars(begin, end, parts[i], 16).ptr != end) return refuse();
        if (i > 0 && begin[-1] != '-') return refuse();
    }
    return LockId{parts[0] << 32 | parts[1] << 16 | parts[2], parts[3] << 48 | parts[4]};
}

std::string LockId::to_string() const {
    const std::array parts{high_ >> 32, high_ >> 16, high_, low_ >> 48, low_};
    std::string text(uuid_length, '-');
    for (std::size_t i = 0; i < groups.size(); ++i) {
        std::uint64_t rest = parts[i];
        for (std::size_t digit = groups[i].digits; digit > 0; rest >>= 4) {
            text[groups[i].at + --digit] = "0123456789abcdef"[rest & 0xF];
        }
    }
    return text;
}

}  // namespace leasehold

std::size_t std::hash<leasehold::LockId>::operator()(const leasehold::LockId& id) const noexcept {
    leasehold::KeyedHash keyed;
    keyed.add(id.high_);
    keyed.add(id.low_);
    return static_cast<std::size_t>(keyed.finish());
}
