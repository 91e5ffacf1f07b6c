// JSON from strangers: what was understood prints, and what was printed is understood as the same.
#include <cstdint>
#include <cstdlib>
#include <string>

#include <leasehold/errors.hpp>

#include "wire/messages.hpp"

namespace leasehold::wire {
namespace {

void require(bool fact) {
    if (!fact) std::abort();
}

std::string print_directly(const Outcome& outcome) {
    std::string text;
    print(text, outcome);
    return text;
}

void test_request(const json::value& value) {
    std::string printed;
    try {
        printed = print(to_json(request_from(value)));
    } catch (const BadRequest&) {
        return;
    }
    require(print(to_json(request_from(parse(printed)))) == printed);
}

void test_outcome(const json::value& value) {
    std::string printed;
    try {
        const Outcome outcome = outcome_from(value);
        printed = print(to_json(outcome));
        require(print_directly(outcome) == printed);
    } catch (const BadRequest&) {
        return;
    }
    require(print(to_json(outcome_from(parse(printed)))) == printed);
}

void test_one(std::string_view text) {
    json::value value;
    try {
        value = parse(text);
    } catch (const BadRequest&) {
        return;
    }
    // Not always to the same last digit: Boost.JSON does not read every fraction exactly.
    (void)parse(print(value));
    test_request(value);
    test_outcome(value);
}

}  // namespace
}  // namespace leasehold::wire

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    leasehold::wire::test_one({reinterpret_cast<const char*>(data), size});
    return 0;
}
