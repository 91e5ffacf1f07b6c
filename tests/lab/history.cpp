#include "lab/history.hpp"

#include <istream>
#include <ostream>
#include <unordered_map>

#include "wire/messages.hpp"

namespace leasehold::lab {
namespace {

namespace json = boost::json;

Instant instant_from(std::int64_t micros) {
    return Instant{Duration{micros}};
}

}  // namespace

bool Operation::is_unknown() const {
    if (!returned || std::holds_alternative<std::monostate>(outcome)) return true;
    const auto* fault = std::get_if<StoreFault>(&outcome);
    return fault != nullptr && fault->effect() == StoreFault::Effect::unknown;
}

bool Operation::is_refused() const {
    return !is_unknown() && (std::holds_alternative<Refusal>(outcome) ||
                             std::holds_alternative<StoreFault>(outcome));
}

void write_call(std::ostream& out, std::uint64_t number, const Operation& operation) {
    json::object line;
    line["number"] = number;
    line["client"] = operation.client;
    line["called_us"] = operation.called.time_since_epoch().count();
    line["request"] = wire::to_json(operation.request);
    out << wire::print(line) << '\n';
}

void write_return(std::ostream& out, std::uint64_t number, const Operation& operation) {
    json::object line;
    line["number"] = number;
    line["returned_us"] = operation.returned->time_since_epoch().count();
    line["outcome"] = wire::to_json(operation.outcome);
    out << wire::print(line) << '\n';
}

Operations read_history(std::istream& in) {
    Operations operations;
    std::unordered_map<std::int64_t, std::size_t> under_way;
    std::string text;
    for (std::size_t at = 1; std::getline(in, text); ++at) {
        try {
            const json::value line = wire::parse(text);
            wire::Fields fields{line, "a line"};
            const std::int64_t number = fields.integer("number");
            if (fields.has("request")) {
                under_way[number] = operations.size();
                operations.push_back({.client = fields.text("client"),
                                      .request = wire::request_from(fields.required("request")),
                                      .called = instant_from(fields.integer("called_us"))});
            } else {
                Operation& operation = operations.at(under_way.at(number));
                operation.returned = instant_from(fields.integer("returned_us"));
                operation.outcome = wire::outcome_from(fields.required("outcome"));
            }
        } catch (const std::exception& error) {
            // The last line of a recorder that was killed may be cut off.
            if (in.peek() == std::istream::traits_type::eof()) break;
            throw BadRequest{"line " + std::to_string(at) + ": " + error.what()};
        }
    }
    return operations;
}

}  // namespace leasehold::lab
