#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <leasehold/errors.hpp>
#include <leasehold/protection.hpp>

#include "core/key_template.hpp"

namespace leasehold {

// What `warnings_about` returns for every table. Tables that are gone or have changed are
// problems, and have no warnings.
template <class WarningsAbout>
[[nodiscard]] std::vector<ProtectionProblem> repeated_warnings(
    const std::vector<ProtectedTable>& tables, WarningsAbout warnings_about) {
    std::vector<ProtectionProblem> all;
    for (const ProtectedTable& table : tables) {
        const auto key = KeyTemplate::parse(table.key);
        if (!key) continue;
        try {
            for (std::string& text : warnings_about(table, *key)) {
                all.push_back({.table = table.name, .text = std::move(text), .advice = {}});
            }
        } catch (const BadRequest&) {
            continue;
        }
    }
    return all;
}

}  // namespace leasehold
