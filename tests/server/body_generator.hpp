#pragma once

#include <boost/json/value.hpp>

#include <cstdint>
#include <random>
#include <string>

#include "server/openapi_schema.hpp"

namespace leasehold::testing {

// Draws random values that a schema of the document allows, and prefers the edges of what it
// allows: the shortest and the longest text, the smallest and the largest number.
class BodyGenerator {
public:
    // The document outlives this.
    BodyGenerator(const OpenApi& api, unsigned seed) : api_{api}, random_{seed} {}

    [[nodiscard]] boost::json::value draw(const boost::json::value& schema);
    // A number from 0 to `most`.
    [[nodiscard]] std::size_t up_to(std::size_t most);

private:
    [[nodiscard]] bool one_in(std::size_t times) { return up_to(times - 1) == 0; }
    [[nodiscard]] boost::json::value draw_object(const boost::json::object& schema);
    [[nodiscard]] boost::json::value draw_list(const boost::json::object& schema);
    [[nodiscard]] boost::json::value draw_integer(const boost::json::object& schema);
    [[nodiscard]] boost::json::value draw_number(const boost::json::object& schema);
    [[nodiscard]] std::string draw_text(const boost::json::object& schema);
    [[nodiscard]] std::string draw_uuid();
    [[nodiscard]] std::string draw_time();
    [[nodiscard]] std::string digits(std::size_t count, std::string_view from = "0123456789");

    const OpenApi& api_;
    std::mt19937 random_;
};

}  // namespace leasehold::testing
