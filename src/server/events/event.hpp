#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <leasehold/lease.hpp>

namespace leasehold::server {

// What happened to one lease. Contains no secret.
struct Event {
    enum class Kind : std::uint8_t {
        granted,
        extended,  // the same lease with another expiry, mode or note
        released,
        expired,
        taken,
        broken,
        ended,  // how is unknown
        knocked,
    };

    Kind kind;
    Holder lease;
    Time store_now{};  // when the server noticed it, or when the knock came
    // Only if the lease has ended, `by` and `why` also if somebody knocked:
    Time ended_at{};
    std::string by{};   // taken: the next owner; released and broken: the token; knocked: the owner
    std::string why{};  // broken: the reason given; knocked: the message
};

[[nodiscard]] std::string_view name_of(Event::Kind kind) noexcept;

[[nodiscard]] Event ending_of(const PastLease& past, Time store_now);

}  // namespace leasehold::server
