#pragma once

#include <boost/container/static_vector.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <leasehold/store.hpp>

// What a URL names.
namespace leasehold::server {

enum class Resource : std::uint8_t {
    health,
    readiness,
    description,
    batch,
    lock,         // of one key
    lock_break,   // of one key
    lock_knock,   // of one key
    locks,        // all
    owner_locks,  // of one owner
    history,
    statistics,
    refused,
    token,  // of who asks
    events,
    console,       // the page
    console_file,  // what it loads
    client_file,   // leasehold.js, for the pages of others
    metrics,
};

// The parameters behind the question mark, each taken by its name. Every function throws BadRequest
// where the value is not what it must be.
class Query {
public:
    void add(std::string name, std::string value);  // throws where it was given before

    [[nodiscard]] std::optional<std::string> text(std::string_view name) const;
    [[nodiscard]] std::optional<std::int64_t> integer(std::string_view name) const;
    [[nodiscard]] OwnerScope scope() const;
    // The key that "type" and "id" name together; nothing where neither is given.
    [[nodiscard]] std::optional<LockKey> key() const;
    // The number of rows of a page.
    [[nodiscard]] std::size_t limit(std::size_t otherwise) const;

    // Throws where there is a parameter of another name.
    void refuse_all_but(std::initializer_list<std::string_view> known) const;

private:
    std::vector<std::pair<std::string, std::string>> parameters_;
};

struct Target {
    Resource resource;
    // The type and the id, or the owner, or the file.
    boost::container::static_vector<std::string, 2> names{};
    Query query{};

    // Throws BadRequest where they make no key.
    [[nodiscard]] LockKey key() const;
};

// Nothing where there is no such resource. Throws BadRequest where it is no URL.
[[nodiscard]] std::optional<Target> read_target(std::string_view text);

// Its URL, with the names of what it takes in braces.
[[nodiscard]] std::string_view route_of(Resource resource) noexcept;

// The methods a resource has, as an Allow field lists them.
[[nodiscard]] std::string_view methods_of(Resource resource) noexcept;

// A place in a list of locks, as text that a client hands back as it is.
[[nodiscard]] std::string cursor_of(const Holder& last);
[[nodiscard]] Holder holder_at(std::string_view cursor);  // throws BadRequest

}  // namespace leasehold::server
