#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace leasehold::bench {

enum class Step : std::uint8_t { try_lock, check, extend, release };

// What a client knows of the lock it has.
struct Held {
    std::string id{};       // of the key
    std::string lock_id{};  // from the try on
};

// How a server is asked for the steps of a cycle, and what it answers.
class Dialect {
public:
    Dialect() = default;
    Dialect(const Dialect&) = delete;
    Dialect& operator=(const Dialect&) = delete;
    virtual ~Dialect() = default;

    // Appends the request. A try draws the lock id where the client does.
    virtual void print(std::string& out, Step step, Held& held) const = 0;

    // The length of the answer at the beginning of `in`, 0 while it is incomplete. Throws
    // std::runtime_error if the answer is not a success.
    [[nodiscard]] virtual std::size_t read(std::string_view in, Step step, Held& held) const = 0;
};

std::unique_ptr<Dialect> make_leasehold_dialect();
// SET NX PX, GET, and two scripts that compare and act; they are loaded into the server on this
// port.
std::unique_ptr<Dialect> make_redis_dialect(std::uint16_t port);
// Transactions of the v3 JSON gateway: compare the key's value, then act.
std::unique_ptr<Dialect> make_etcd_dialect();

}  // namespace leasehold::bench
