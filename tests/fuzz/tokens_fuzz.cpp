// The token file: what is read prints as entries that are read as the same tokens, and no error
// repeats a token that somebody wrote there by mistake.
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

#include <leasehold/errors.hpp>

#include "cli/serve/token_file.hpp"

namespace leasehold::cli {
namespace {

void require(bool holds, std::string_view what, std::string_view text) {
    if (holds) return;
    std::cerr << what << ": " << text << '\n';
    std::abort();
}

void run(std::string_view text) {
    std::vector<server::Token> tokens;
    try {
        tokens = tokens_in("tokens.toml", text);
    } catch (const BadRequest& bad) {
        require(std::string_view{bad.what()}.starts_with("tokens.toml"), "no place", bad.what());
        return;
    }
    std::string printed;
    for (const server::Token& token : tokens) {
        const bool speaks = token.roles.has(server::Role::use);
        require(!speaks || !token.owner.empty(), "a token without an owner", text);
        printed += token_entry(token);
    }
    std::string again;
    for (const server::Token& token : tokens_in("printed.toml", printed)) {
        again += token_entry(token);
    }
    require(again == printed, "not the same", printed);
}

}  // namespace
}  // namespace leasehold::cli

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    leasehold::cli::run({reinterpret_cast<const char*>(data), size});
    return 0;
}
