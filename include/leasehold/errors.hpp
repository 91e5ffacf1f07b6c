#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace leasehold {

// The caller asked for something that can never be granted: a key that is too long, a ttl out of
// bounds. Thrown before the store is asked. The text says what is wrong and what would be right.
class BadRequest : public std::invalid_argument {
public:
    using std::invalid_argument::invalid_argument;
};

// The store could not answer. This never means "no": a "no" is a Refusal.
class StoreFault : public std::runtime_error {
public:
    // Whether the request may have been carried out. After `unknown`, repeat the request with the
    // same lock id: that is safe, and its answer is the truth.
    enum class Effect : std::uint8_t { none, unknown };

    enum class Cause : std::uint8_t {
        unavailable,  // no connection, a lost connection, a timeout, an overfull queue
        clock_leap,  // the store's clock leapt ahead: a lease only looks expired, see docs/clock.md
        configuration,   // wrong credentials, unsafe settings under durability=strict, a newer
                         // schema, a request that the server does not accept
        not_allowed,     // the server does not know our token, or the token may not do this
        internal,        // the store's answer was not understood
        lock_id_in_use,  // the caller gave a lock id that names a lease of another key
        too_large,  // too much for one transaction: LockManager and the server send it in parts
    };

    StoreFault(Effect effect, Cause cause, const std::string& what)
        : std::runtime_error{what}, effect_{effect}, cause_{cause} {}

    [[nodiscard]] Effect effect() const noexcept { return effect_; }
    [[nodiscard]] Cause cause() const noexcept { return cause_; }

private:
    Effect effect_;
    Cause cause_;
};

}  // namespace leasehold
