#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <string_view>
#include <variant>
#include <vector>

#include <leasehold/errors.hpp>
#include <leasehold/request.hpp>

#include "core/enum_table.hpp"
#include "core/request_traits.hpp"

// What the parts of the server share about requests to the store.
namespace leasehold::server {

// Requests that keep or end a lease go before the others, and are counted apart from them, so that
// a flood of tries cannot delay a renewal until its lease expires. `by_request`, of a batch: each
// request counts by its own pace.
enum class Pace : std::uint8_t { asks, keeps, by_request };

[[nodiscard]] constexpr Pace pace_of(RequestKind kind) noexcept {
    const bool keeps_or_ends = names_own_lease(kind) || kind == RequestKind::release_all;
    return keeps_or_ends ? Pace::keeps : Pace::asks;
}
[[nodiscard]] inline bool keeps_or_ends_leases(const Request& request) noexcept {
    return pace_of(kind_of(request)) == Pace::keeps;
}

// holders, list and history.
[[nodiscard]] constexpr bool asks_for_rows(RequestKind kind) noexcept {
    return only_reads(kind) && !names_own_lease(kind);
}
// Whether the answer to the request has rows of several keys.
[[nodiscard]] inline bool lists_many_keys(const Request& request) noexcept {
    const auto* const past = std::get_if<History>(&request);
    return std::holds_alternative<List>(request) || (past != nullptr && !past->key);
}

// How long after the expected expiry of a lease the store is asked. Only the store's clock says
// when a lease expires, and this machine's estimate may be early.
inline constexpr std::chrono::milliseconds behind_the_expiry{1};

// The outcome of a request that the server did not send to the store.
[[nodiscard]] inline StoreFault not_sent(const char* why) {
    return {StoreFault::Effect::none, StoreFault::Cause::unavailable, why};
}

// Whether this ending means that the holder lost its lease: somebody or something other than the
// holder ended it.
inline constexpr EnumTable<Gone, bool> is_loss{{{Gone::unknown, false},
                                                {Gone::expired, true},
                                                {Gone::released, false},
                                                {Gone::taken, true},
                                                {Gone::broken, true}}};

// Whether a client receives an outcome.
enum class Recipient : std::uint8_t {
    client,
    nobody,  // the server asked for itself, or for a client that goes on waiting
};

// A request and its outcome.
struct Answered {
    RequestKind kind;
    std::string_view owner;  // that the request names; empty if it names none
    const Outcome& outcome;
    Recipient recipient = Recipient::client;
    std::string_view by{};  // who ends the leases, as the history says it
};

// Hears of every request and every outcome. Called on any thread; must not block.
class OutcomeListener {
public:
    OutcomeListener() = default;
    OutcomeListener(const OutcomeListener&) = delete;
    OutcomeListener& operator=(const OutcomeListener&) = delete;
    virtual ~OutcomeListener() = default;

    // The request is about to be sent to the store.
    virtual void sending(const Request&) {}
    virtual void answered(const Answered&) {}
};

// The one stream of outcomes. The store queue publishes the outcome of every request it was given,
// the waiting room the refusals that it sends to clients whose time is up. Every other part
// subscribes, so that no part calls another to report something. Thread-safe once all listeners
// have subscribed.
class OutcomeStream {
public:
    // Before the first request. The listener outlives the last one.
    void subscribe(OutcomeListener& listener) { listeners_.push_back(&listener); }

    void sending(const Request& request) const noexcept {
        each([&](OutcomeListener& listener) { listener.sending(request); });
    }
    void publish(const Answered& answered) const noexcept {
        each([&](OutcomeListener& listener) { listener.answered(answered); });
    }

private:
    template <class Call>
    void each(Call call) const noexcept {
        for (OutcomeListener* const listener : listeners_) {
            try {
                call(*listener);
            } catch (const std::exception&) {
                // For lack of memory this listener misses it; the client gets its answer.
            }
        }
    }

    std::vector<OutcomeListener*> listeners_;
};

}  // namespace leasehold::server
