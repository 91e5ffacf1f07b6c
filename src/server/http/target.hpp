#pragma once

#include <boost/url/params_encoded_view.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <leasehold/store.hpp>

// What a request is about: the path and the query of its URL.
namespace leasehold::server {

struct HttpRequest;

// The parameters after the question mark. Every function throws BadRequest for a value that it does
// not accept.
class Query {
public:
    void add(std::string name, std::string value);  // throws if the name was added before

    [[nodiscard]] std::optional<std::string> text(std::string_view name) const;
    [[nodiscard]] std::optional<std::int64_t> integer(std::string_view name) const;

    // Throws if there is a parameter with another name.
    void refuse_all_but(std::span<const std::string_view> known) const;

private:
    std::vector<std::pair<std::string, std::string>> parameters_;
};

// The segments of a path, still encoded: a slash within a segment is %2F. The path "/" has none.
struct Path {
    static constexpr std::size_t most_segments = 8;

    std::array<std::string_view, most_segments> segments{};
    std::size_t size = 0;
};

// The parts of a request's target in origin form. Refers to the text that was read.
struct Target {
    std::optional<Path> path{};  // nothing if it has more segments than any route
    boost::urls::params_encoded_view parameters{};
};

// Throws BadRequest if the text is not a path, optionally with a query.
[[nodiscard]] Target read_target(std::string_view text);

// Throws BadRequest for too many parameters, and for one that is given twice.
[[nodiscard]] Query read_query(const Target& target);

// The text of an encoded segment. Nothing if an escape is broken.
[[nodiscard]] std::optional<std::string> decoded(std::string_view segment);

// The integer that the text consists of. Throws BadRequest, which names `what`, for another text.
[[nodiscard]] std::int64_t integer_of(std::string_view what, std::string_view text);

// Splits a target in absolute form, "http://host/path", which RFC 9112 (3.2.2) demands that a
// server accepts: the host replaces the Host field, the rest is the target. False if the host is
// missing or malformed. Other targets stay as they are.
[[nodiscard]] bool take_absolute_form(HttpRequest& request);

}  // namespace leasehold::server
