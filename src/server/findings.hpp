#pragma once

#include <cstdint>
#include <string>

#include "core/enum_table.hpp"

namespace leasehold::server {

enum class Verdict : std::uint8_t { ok, warning, problem };

inline constexpr EnumTable<Verdict, std::string_view> verdict_names{
    {{Verdict::ok, "ok"}, {Verdict::warning, "warning"}, {Verdict::problem, "problem"}}};

// What `leasehold doctor` says about one part of an installation. Names no secret.
struct Finding {
    Verdict verdict = Verdict::ok;
    std::string about{};   // "tokens"
    std::string text{};    // "3 tokens never expire: ..."
    std::string advice{};  // empty if nothing needs to be done
};

}  // namespace leasehold::server
