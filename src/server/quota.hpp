#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/enum_table.hpp"
#include "core/phrase.hpp"

namespace leasehold::server {

// What is counted for each token, and for each of its owners. docs/security.md explains them.
enum class Quota : std::uint8_t {
    leases,
    grants_per_day,
    bytes_per_day,
    waiters,
    event_streams,
    delayed_releases,
    connections,
};

struct QuotaTraits {
    std::string_view name;  // in files, problems, metrics and the console
    std::uint64_t usual;    // the limit for a token if no setting says otherwise
    Phrase what;            // is counted
    Phrase remedy;
};

inline constexpr std::uint64_t gibibyte = 1ULL << 30;

inline constexpr EnumTable<Quota, QuotaTraits> quota_traits{{
    {Quota::leases,
     {"leases",
      20'000,
      {"live leases at once", "동시에 유효한 잠금"},
      {"release some, or wait until some expire", "일부를 해제하거나 만료되기를 기다리세요"}}},
    {Quota::grants_per_day,
     {"grants_per_day",
      10'000'000,
      {"leases granted in a day", "하루에 선점하는 잠금"},
      {"wait as Retry-After says", "Retry-After에 적힌 시간만큼 기다리세요"}}},
    {Quota::bytes_per_day,
     {"bytes_per_day",
      4 * gibibyte,
      {"bytes of leases granted in a day", "하루에 선점하는 잠금의 크기(바이트)"},
      {"wait as Retry-After says, or write shorter notes",
       "Retry-After에 적힌 시간만큼 기다리거나 메모를 짧게 쓰세요"}}},
    {Quota::waiters,
     {"waiters",
      2'000,
      {"tries that wait for a key at once", "동시에 대기하는 시도"},
      {"try without waiting, or when another wait has ended",
       "대기하지 않고 시도하거나 다른 대기가 끝난 뒤에 시도하세요"}}},
    {Quota::event_streams,
     {"event_streams",
      200,
      {"event streams at once", "동시에 연 이벤트 스트림"},
      {"close one of the streams", "스트림 하나를 닫으세요"}}},
    {Quota::delayed_releases,
     {"delayed_releases",
      4'000,
      {"delayed releases at once", "동시에 예약한 지연 해제"},
      {"release without a delay", "지연 없이 해제하세요"}}},
    // Further connections are served like connections of strangers.
    {Quota::connections,
     {"connections",
      5'000,
      {"connections at once", "동시 연결"},
      {"close some of them", "일부를 닫으세요"}}},
}};

// The limits of the quotas. 0: no limit.
class QuotaLimits {
public:
    constexpr QuotaLimits() {
        for (const auto& [quota, traits] : quota_traits) limits_[quota] = traits.usual;
    }

    [[nodiscard]] constexpr std::uint64_t& operator[](Quota quota) noexcept {
        return limits_[quota];
    }
    [[nodiscard]] constexpr std::uint64_t operator[](Quota quota) const noexcept {
        return limits_[quota];
    }
    // The same limits with another one.
    [[nodiscard]] constexpr QuotaLimits with(Quota quota, std::uint64_t limit) const {
        QuotaLimits changed = *this;
        changed[quota] = limit;
        return changed;
    }

private:
    EnumArray<Quota, std::uint64_t> limits_;
};

// The limits that the entry of one token states, instead of the server's.
using OwnQuotas = EnumArray<Quota, std::optional<std::uint64_t>>;

// How full a quota is, over all tokens.
struct QuotaLevel {
    std::uint64_t used = 0;      // by all tokens together
    double fullest = 0;          // the highest share of its limit that a token uses, 0 to 1
    std::uint64_t refusals = 0;  // requests that were refused because of this quota
};
using QuotaLevels = EnumArray<Quota, QuotaLevel>;

// How much of a quota is used. A quota of a day is used up by grants and fills again steadily.
struct QuotaUse {
    std::uint64_t used = 0;
    std::uint64_t limit = 0;  // 0: no limit
};

}  // namespace leasehold::server
