// A store's URL with a password, malformed at will: nothing that is printed or handed to a driver
// as a host, a database or a path contains a part of the password.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

#include <leasehold/errors.hpp>

#include "core/text.hpp"
#include "store_url.hpp"
#include "stores/postgres/conninfo.hpp"

namespace leasehold {
namespace {

// Only passwords have these letters.
constexpr std::string_view secret_letters = "JQXZ";

bool is_letter_or_digit(char c) {
    const char small = lower_letter(c);
    return (small >= 'a' && small <= 'z') || (c >= '0' && c <= '9');
}

// The password: the fuzzer chooses its length and its punctuation.
std::string secret_from(std::string_view text) {
    std::string secret{"QX"};
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool encodes = (i > 0 && text[i - 1] == '%') || (i > 1 && text[i - 2] == '%');
        const auto byte = static_cast<unsigned char>(text[i]);
        secret += is_letter_or_digit(text[i]) && !encodes
                      ? secret_letters[byte % secret_letters.size()]
                      : text[i];
    }
    return secret.append("ZJ");
}

// What surrounds the password: without the secret letters, encoded ones included.
std::string public_from(std::string_view text) {
    std::string result;
    for (const char c : lower(text)) result.append(c == '%' ? "%25" : std::string(1, c));
    return result;
}

void require_hidden(std::string_view shown, std::string_view url) {
    if (shown.find_first_of(secret_letters) == std::string_view::npos) return;
    std::cerr << "of " << url << "\nthis is shown: " << shown << '\n';
    std::abort();
}

template <class Use>
void shown_by(std::string_view url, Use use) {
    try {
        require_hidden(use(), url);
    } catch (const std::exception& error) {
        require_hidden(error.what(), url);
    }
}

// Everything after "sqlite:" is the path of a file, which is no secret.
bool is_path(const std::string& url) {
    return url.starts_with("sqlite:") &&
           (!url.starts_with("sqlite://") || url.starts_with("sqlite:///"));
}

void test_url(const std::string& text) {
    if (is_path(text)) return;
    shown_by(text, [&] { return without_secrets(text); });
    shown_by(text, [&] {
        const StoreUrl url = StoreUrl::parse(text, {});
        shown_by(text, [&] { return (void)url.password(), ""; });
        shown_by(text, [&] { return url.user(); });
        shown_by(text, [&] { return url.host(); });
        shown_by(text, [&] { return url.database(); });
        shown_by(text, [&] { return (void)url.port(1), ""; });
        shown_by(text, [&] { return (void)url.flag("tls"), ""; });
        shown_by(text, [&] {
            std::string hosts;
            for (const auto& [host, port] : url.places(1)) hosts += host;
            return hosts;
        });
        if (url.scheme == "sqlite") shown_by(text, [&] { return url.path(); });
        shown_by(text,
                 [&] { return (void)postgres::require_readable(url.without_our_options()), ""; });
        return url.may_hold_a_secret() ? "" : url.scheme;
    });
}

// The input has three lines: what comes before the password, the password, and what comes after.
void test_one(std::string_view input) {
    const std::size_t first = std::min(input.find('\n'), input.size());
    const std::size_t second = std::min(input.find('\n', first + 1), input.size());
    const std::string before = public_from(input.substr(0, first));
    const std::string secret =
        secret_from(first < second ? input.substr(first + 1, second - first - 1) : "");
    const std::string after = public_from(input.substr(std::min(second + 1, input.size())));
    test_url(before + ":" + secret + "@" + after);
    test_url(before + "app:" + secret + "@" + after);
    test_url(before + "?password=" + secret + after);
}

}  // namespace
}  // namespace leasehold

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    leasehold::test_one({reinterpret_cast<const char*>(data), size});
    return 0;
}
