#pragma once

#include <boost/json/value.hpp>

#include <string>
#include <string_view>

namespace leasehold::testing {

// An OpenAPI document, and what it says of requests and answers. Knows the words of JSON Schema
// that this document uses, and throws at any other.
class OpenApi {
public:
    explicit OpenApi(boost::json::value document) : document_(std::move(document)) {}

    [[nodiscard]] const boost::json::value& document() const { return document_; }

    // What is wrong with them, or nothing. `path` is a template, "/v1/locks/{type}/{id}".
    [[nodiscard]] std::string problem_with_body(std::string_view path, std::string_view method,
                                                const boost::json::value& body) const;
    [[nodiscard]] std::string problem_with_answer(std::string_view path, std::string_view method,
                                                  unsigned status, std::string_view content_type,
                                                  const boost::json::value& body) const;

private:
    [[nodiscard]] const boost::json::value& resolve(const boost::json::value& value) const;
    [[nodiscard]] std::string check(const boost::json::value& schema,
                                    const boost::json::value& value,
                                    const std::string& where) const;
    [[nodiscard]] std::string check_object(const boost::json::object& schema,
                                           const boost::json::object& value,
                                           const std::string& where) const;
    [[nodiscard]] std::string check_choice(const boost::json::array& choices, bool exactly_one,
                                           const boost::json::value& value,
                                           const std::string& where) const;

    boost::json::value document_;
};

}  // namespace leasehold::testing
