#pragma once

#include <boost/json/value.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace leasehold::testing {

// The parts of a request that the description has rules for.
struct DescribedRequest {
    std::string method;  // empty: the server could not read the request
    std::string target;
    std::string body;
};

struct DescribedAnswer {
    unsigned status;
    std::string_view content_type;
    std::optional<std::string_view> body;  // nothing if only the header was received
};

// An OpenAPI document: judges requests and answers by it. Knows the keywords of JSON Schema that
// this document uses and throws std::logic_error at any other. Each problem_... function returns
// what is wrong, or an empty text.
class OpenApi {
public:
    explicit OpenApi(boost::json::value document) : document_(std::move(document)) {}

    // The document that this build of the server serves, with default limits.
    [[nodiscard]] static const OpenApi& of_this_build();

    [[nodiscard]] const boost::json::value& document() const { return document_; }

    // The template of a target's path, such as "/v1/locks/{type}/{id}"; nothing if none fits.
    [[nodiscard]] std::optional<std::string> path_of(std::string_view target) const;

    [[nodiscard]] std::string problem_with(const DescribedRequest& request,
                                           const DescribedAnswer& answer) const;
    // `path` is a template.
    [[nodiscard]] std::string problem_with_body(std::string_view path, std::string_view method,
                                                const boost::json::value& body) const;
    // `schema` names one of the document's components.
    [[nodiscard]] std::string problem_with_value(std::string_view schema,
                                                 const boost::json::value& value) const;

    // Follows a reference. Keywords beside "$ref" override the referenced ones.
    [[nodiscard]] boost::json::value resolved(const boost::json::value& schema) const;

private:
    [[nodiscard]] const boost::json::value& target_of(const boost::json::value& reference) const;
    [[nodiscard]] const boost::json::value* operation(const DescribedRequest& request) const;
    [[nodiscard]] std::string problem_with_content(const boost::json::value& response,
                                                   const DescribedAnswer& answer) const;
    [[nodiscard]] std::string check(const boost::json::value& schema,
                                    const boost::json::value& value,
                                    const std::string& where) const;
    [[nodiscard]] std::string check_object(const boost::json::object& schema,
                                           const boost::json::object& value,
                                           const std::string& where) const;
    [[nodiscard]] std::string check_list(const boost::json::object& schema,
                                         const boost::json::array& value,
                                         const std::string& where) const;
    [[nodiscard]] std::string check_choice(const boost::json::array& choices, bool exactly_one,
                                           const boost::json::value& value,
                                           const std::string& where) const;

    boost::json::value document_;
};

}  // namespace leasehold::testing
