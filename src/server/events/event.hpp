#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include <leasehold/lease.hpp>

namespace leasehold::server {

// What happened to one lease, as everybody may know it.
struct Event {
    enum class Kind : std::uint8_t {
        granted,
        extended,  // the same lease with another expiry, mode or note
        released,
        expired,
        taken,
        broken,
        ended,  // the store does not say how
        knocked,
    };

    Kind kind;
    Holder lease;
    Time store_now{};  // when it was seen, or when somebody knocked
    // Of endings:
    Time ended_at{};
    std::string by{};   // taken: the next owner; broken and knocked: who did it
    std::string why{};  // broken: the reason given; knocked: the message
};

[[nodiscard]] std::string_view name_of(Event::Kind kind) noexcept;

[[nodiscard]] Event ending_of(const PastLease& past, Time store_now);

// With the fields of a lease, and of how it ended, as everywhere.
[[nodiscard]] boost::json::object to_json(const Event& event);

}  // namespace leasehold::server
