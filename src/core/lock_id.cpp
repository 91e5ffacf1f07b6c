#include <leasehold/lock_id.hpp>

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <optional>
#include <system_error>
#include <utility>

#include <pthread.h>

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
        auto* bytes = reinterpret_cast<unsigned char*>(words_.data());
        for (std::size_t got = 0; got < sizeof words_;) {
            const ssize_t n = getrandom(bytes + got, sizeof words_ - got, 0);
            if (n < 0 && errno != EINTR) {
                throw std::system_error{errno, std::generic_category(), "getrandom"};
            }
            if (n > 0) got += static_cast<std::size_t>(n);
        }
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

std::optional<unsigned> hex_value(char c) {
    if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
    if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
    if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
    return std::nullopt;
}

constexpr std::size_t uuid_length = 36;

constexpr bool is_dash_position(std::size_t i) {
    return i == 8 || i == 13 || i == 18 || i == 23;
}

}  // namespace

// 32 bits of time in units of about 4 ms, then 90 random bits: a UUID of version 8. The time comes
// round again after 200 days, which costs an index a little of its order once and means nothing
// else.
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
    std::array<std::uint64_t, 2> halves{};
    std::size_t digits = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (is_dash_position(i)) {
            if (text[i] != '-') return refuse();
            continue;
        }
        const auto value = hex_value(text[i]);
        if (!value) return refuse();
        auto& half = halves[digits++ / 16];
        half = half << 4 | *value;
    }
    return LockId{halves[0], halves[1]};
}

std::string LockId::to_string() const {
    std::string text(uuid_length, '-');
    std::size_t digit = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (is_dash_position(i)) continue;
        const std::uint64_t half = digit < 16 ? high_ : low_;
        text[i] = "0123456789abcdef"[half >> (60 - 4 * (digit % 16)) & 0xF];
        ++digit;
    }
    return text;
}

}  // namespace leasehold
