#include "stores/postgres/conninfo.hpp"

#include <libpq-fe.h>

#include <leasehold/errors.hpp>

#include <algorithm>
#include <memory>
#include <string_view>

namespace leasehold::postgres {
namespace {

// The message up to its first quotation. Translated messages quote with other letters than ASCII.
std::string reason_in(std::string_view message) {
    const auto is_plain = [](char c) { return c >= ' ' && c < 0x7F && c != '"'; };
    const auto quotation = std::ranges::find_if_not(message, is_plain);
    std::string reason{message.begin(), quotation};
    while (reason.ends_with(' ') || reason.ends_with(':')) reason.pop_back();
    return reason;
}

struct FreeText {
    void operator()(char* text) const noexcept { PQfreemem(text); }
};
struct FreeOptions {
    void operator()(PQconninfoOption* options) const noexcept { PQconninfoFree(options); }
};

}  // namespace

void require_readable(const std::string& conninfo) {
    if (!conninfo.contains('=') && !conninfo.contains("://")) return;  // a database's name
    char* raw = nullptr;
    const std::unique_ptr<PQconninfoOption, FreeOptions> options{
        PQconninfoParse(conninfo.c_str(), &raw)};
    const std::unique_ptr<char, FreeText> message{raw};
    if (options) return;
    throw StoreFault{StoreFault::Effect::none, StoreFault::Cause::configuration,
                     "postgres: the connection string cannot be read: " +
                         reason_in(message ? message.get() : "out of memory") +
                         "; percent-encode the special characters of a password"};
}

}  // namespace leasehold::postgres
