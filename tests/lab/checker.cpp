#include "lab/checker.hpp"

#include <algorithm>
#include <sstream>

#include "lab/checks.hpp"

namespace leasehold::lab {
namespace {

const std::vector<Rule>& rules() {
    static const std::vector<Rule> all = [] {
        std::vector<Rule> every;
        for (auto* kind : {rules_by_answers, rules_by_store_clock, rules_by_our_clock,
                           rules_by_order, rules_by_aftermath}) {
            std::ranges::copy(kind(), std::back_inserter(every));
        }
        return every;
    }();
    return all;
}

}  // namespace

bool Expectations::may_have_met_a_transaction(const Operation& operation) const {
    return std::ranges::any_of(foreign_transactions, [&](const auto& open) {
        return operation.called <= open.second && *operation.returned >= open.first;
    });
}

std::vector<Violation> check(const Operations& operations, const Expectations& expectations,
                             const Aftermath* aftermath) {
    const Evidence evidence{operations, expectations, aftermath, tell(operations)};
    std::vector<Violation> violations;
    for (const Rule& rule : rules()) {
        rule.check(evidence, [&](std::string what, std::vector<const Operation*> shown) {
            violations.push_back({rule.name, std::move(what), std::move(shown)});
        });
    }
    return violations;
}

std::string describe(const Violation& violation) {
    std::ostringstream text;
    text << violation.rule << ": " << violation.what << '\n';
    for (const Operation* operation : violation.operations) {
        write_call(text, 0, *operation);
        if (operation->returned) write_return(text, 0, *operation);
    }
    return std::move(text).str();
}

std::vector<std::string> rule_names() {
    std::vector<std::string> names;
    for (const Rule& rule : rules()) names.emplace_back(rule.name);
    return names;
}

}  // namespace leasehold::lab
