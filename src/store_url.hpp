#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <leasehold/store.hpp>

namespace leasehold {

// A store's URL in its parts: scheme:rest, where rest is a path, or //user:password@host:port/name,
// and ?name=value&... Options that are Leasehold's own end up in `options`.
class StoreUrl {
public:
    // Throws BadRequest. If the URL may hold a password, no message repeats any part of it: in a
    // malformed URL nobody can tell where the password ends.
    [[nodiscard]] static StoreUrl parse(std::string_view text, const StoreOptions& defaults);

    std::string scheme;
    StoreOptions options;

    // Whether no part of the URL may be repeated in a message.
    [[nodiscard]] bool may_hold_a_secret() const { return may_hold_a_secret_; }

    [[nodiscard]] bool is_bare() const { return rest_.empty(); }

    // For sqlite: the text between scheme and parameters.
    [[nodiscard]] std::string path() const;

    // Whether there is a user or a password: //user:password@...
    [[nodiscard]] bool names_a_user() const;
    [[nodiscard]] std::string user() const;
    [[nodiscard]] std::string password() const;
    [[nodiscard]] std::string host() const;
    [[nodiscard]] std::uint16_t port(std::uint16_t otherwise) const;
    // host:port,host:port
    [[nodiscard]] std::vector<std::pair<std::string, std::uint16_t>> places(
        std::uint16_t otherwise) const;
    [[nodiscard]] std::string database() const;
    // Empty if it is not given.
    [[nodiscard]] std::string parameter(std::string_view name) const;

    // Whether the URL says name=on. Throws BadRequest if the value is neither on nor off.
    [[nodiscard]] bool flag(std::string_view name) const;

    // Whether the URL says tls=verify-full. Throws BadRequest for any other value but off.
    [[nodiscard]] bool verifies_tls() const;

    // The URL for a driver that reads its own parameters.
    [[nodiscard]] std::string without_our_options() const;

private:
    void take_parameters(std::string_view query);
    bool take_option(std::string_view name, const std::string& value);
    [[noreturn]] void refuse_value(std::string_view name, const std::string& value,
                                   std::string_view right) const;
    template <class Unit>
    [[nodiscard]] Duration duration(std::string_view name, const std::string& value) const;

    bool may_hold_a_secret_ = false;
    std::string rest_;
    std::vector<std::pair<std::string, std::string>> parameters_;  // not our own; still encoded
};

// The URL for logs and screens, its password as "***". Takes malformed URLs too.
[[nodiscard]] std::string without_secrets(std::string_view url);

}  // namespace leasehold
