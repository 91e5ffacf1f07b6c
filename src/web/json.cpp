#include <leasehold/web/json.hpp>

#include "web/problems.hpp"
#include "wire/messages.hpp"

namespace leasehold::web {

std::string to_json(const Lease& lease) {
    return wire::print(wire::to_json(lease));
}

std::string to_json(const Holder& holder) {
    return wire::print(wire::to_json(holder));
}

std::string to_json(const Refusal& refusal) {
    return wire::print(wire::to_json(refusal));
}

Response refused(const Refusal& refusal) {
    return refusal_response(refusal);
}

Response problem(int status, const std::string& code, const std::string& detail) {
    return problem_response(status, code, detail, {});
}

}  // namespace leasehold::web
