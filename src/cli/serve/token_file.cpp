#include "cli/serve/token_file.hpp"

#include <leasehold/errors.hpp>
#include <leasehold/limits.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>

#include "cli/serve/config.hpp"
#include "cli/serve/toml_file.hpp"
#include "core/text.hpp"
#include "wire/json.hpp"

namespace leasehold::cli {
namespace {

using server::Digest;
using server::Roles;
using server::Token;

constexpr std::size_t longest_name = 64;
constexpr std::size_t most_tokens = 10'000;
constexpr std::string_view name_letters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._@-";

std::optional<Digest> digest_from(std::string_view text) {
    Digest digest{};
    if (text.size() != 2 * digest.size()) return std::nullopt;
    for (std::size_t i = 0; i < digest.size(); ++i) {
        const char* const first = text.data() + 2 * i;
        const auto [end, error] = std::from_chars(first, first + 2, digest[i], 16);
        if (error != std::errc{} || end != first + 2) return std::nullopt;
    }
    return digest;
}

std::expected<void, std::string> check_name(std::string_view what, std::string_view name) {
    if (!name.empty() && name.size() <= longest_name &&
        name.find_first_not_of(name_letters) == std::string_view::npos) {
        return {};
    }
    return std::unexpected{"a token's " + std::string{what} + " has 1 to " +
                           std::to_string(longest_name) + " letters, digits and . _ @ -"};
}

// One [[token]] of the file.
class Entry {
public:
    Entry(const std::string& path, const toml::table& table) : path_{path}, table_{table} {}

    [[nodiscard]] Token read() const {
        refuse_unknown();
        Token token{.name = text("name")};
        require("name", check_token_name(token.name));
        if (table_.contains("id")) {
            token.id = text("id");
            require("id", check_token_id(token.id));
        }
        read_proof(token);
        token.roles = roles();
        if (table_.contains("owner")) {
            token.owner = text("owner");
            require("owner", check_token_owner(token.owner));
        } else if (token.roles.has(server::Role::use)) {
            refuse(table_, owner_is_missing(token.name, "owner = \"shop\"", "owner = \"*\""));
        }
        if (table_.contains("rate")) token.rate = rate();
        for (const auto& [quota, traits] : server::quota_traits) {
            if (table_.contains(traits.name)) token.quotas[quota] = quota_limit(traits.name);
        }
        if (table_.contains("expires")) token.expires = expires();
        read_keys(token);
        return token;
    }

    [[noreturn]] void refuse(const toml::node& where, const std::string& problem) const {
        throw BadRequest{place(path_, where.source()) + ": " + problem};
    }
    [[nodiscard]] const toml::node& at(std::string_view name) const {
        const toml::node* const node = table_.get(name);
        if (node == nullptr) refuse(table_, "the token has no '" + std::string{name} + "'");
        return *node;
    }

private:
    void refuse_unknown() const {
        constexpr std::array known{"name",  "id",       "sha256",   "certificate",
                                   "roles", "owner",    "rate",     "expires",
                                   "keys",  "use_keys", "see_keys", "break_keys"};
        std::string quotas;
        for (const auto& [quota, traits] : server::quota_traits) {
            quotas.append(quotas.empty() ? "" : ", ").append(traits.name);
        }
        for (const auto& [key, node] : table_) {
            if (std::ranges::find(known, key.str()) != known.end()) continue;
            if (is_quota(key.str())) continue;
            refuse(node, "a token has no '" + std::string{key.str()} +
                             "'; it has name, id, sha256 or certificate, roles, owner, rate, "
                             "expires, keys, use_keys, see_keys, break_keys and the quotas " +
                             quotas);
        }
    }

    [[nodiscard]] std::string text(std::string_view name) const {
        const toml::node& node = at(name);
        if (!node.is_string()) refuse(node, std::string{name} + " takes a text in quotes");
        return node.as_string()->get();
    }

    // A secret's digest, or the name in a client's certificate.
    void read_proof(Token& token) const {
        if (table_.contains("certificate")) {
            if (table_.contains("sha256")) {
                refuse(at("certificate"), "a token has sha256 or certificate, not both");
            }
            token.proof = server::Proof::certificate;
            token.certificate = text("certificate");
            require("certificate", check_certificate_name(token.certificate));
            return;
        }
        const auto digest = digest_from(text("sha256"));
        if (!digest) {
            refuse(at("sha256"),
                   "sha256 takes 64 hexadecimal digits, as `leasehold token` prints "
                   "them; the token itself does not belong in this file");
        }
        token.digest = *digest;
    }

    [[nodiscard]] std::chrono::sys_seconds expires() const {
        const toml::node& node = at("expires");
        std::ostringstream written;
        if (const auto* date = node.as_date()) {
            written << date->get();
        } else if (const auto* moment = node.as_date_time()) {
            written << moment->get();
        } else if (const auto* quoted = node.as_string()) {
            written << quoted->get();
        }
        const auto read = moment_from(written.str());
        if (!read) refuse(node, read.error());
        return *read;
    }

    void require(std::string_view name, const std::expected<void, std::string>& checked) const {
        if (!checked) refuse(at(name), checked.error());
    }

    [[nodiscard]] Roles roles() const {
        const toml::node& node = at("roles");
        std::vector<std::string> names;
        if (node.is_array()) {
            for (const toml::node& one : *node.as_array()) {
                names.push_back(one.is_string() ? one.as_string()->get() : "");
            }
        }
        const auto read = roles_from(names);
        if (!read) refuse(node, read.error());
        return *read;
    }

    static bool is_quota(std::string_view name) {
        return std::ranges::any_of(server::quota_traits,
                                   [&](const auto& row) { return row.value.name == name; });
    }

    [[nodiscard]] std::uint64_t quota_limit(std::string_view name) const {
        const toml::node& node = at(name);
        const auto* const number = node.as_integer();
        if (number == nullptr || number->get() < 0 || number->get() > highest_quota) {
            refuse(node, std::string{name} + " takes a whole number, at most " +
                             std::to_string(highest_quota) + "; 0 means no limit");
        }
        return static_cast<std::uint64_t>(number->get());
    }

    // `keys` is for all roles; `use_keys` and its like replace it for one role.
    void read_keys(Token& token) const {
        for (const auto& [role, name] : server::role_names) {
            const std::string own = std::string{name} + "_keys";
            if (table_.contains(own)) {
                if (!token.roles.has(role)) {
                    refuse(at(own), "the token has " + own + " and not the role '" +
                                        std::string{name} + "'");
                }
                token.keys.limit(role, keys(own));
            } else if (table_.contains("keys")) {
                token.keys.limit(role, keys("keys"));
            }
        }
    }

    [[nodiscard]] KeySet keys(std::string_view name) const {
        const toml::node& node = at(name);
        std::vector<std::string> texts;
        if (node.is_array()) {
            for (const toml::node& one : *node.as_array()) {
                texts.push_back(one.is_string() ? one.as_string()->get() : "");
            }
        }
        auto read = server::keys_from(texts);
        if (!read) refuse(node, std::string{name} + ": " + read.error());
        return *std::move(read);
    }

    [[nodiscard]] server::Rate rate() const {
        const toml::node& node = at("rate");
        const auto* const number = node.as_integer();
        const auto read = rate_from(number != nullptr ? number->get() : -1);
        if (!read) refuse(node, read.error());
        return *read;
    }

    const std::string& path_;
    const toml::table& table_;
};

std::string proof_entry(const Token& token) {
    return token.proof == server::Proof::certificate
               ? "certificate = " + toml_text(token.certificate) + "\n"
               : "sha256 = \"" + server::hex_of(token.digest) + "\"\n";
}

// The line `keys`. The command gives all roles of a token the same keys.
std::string keys_of_entry(const Token& token) {
    for (const auto& [role, name] : server::role_names) {
        const KeySet& keys = token.keys.of(role);
        if (!token.roles.has(role) || keys.has_every_key()) continue;
        std::string list;
        for (const KeyPattern& pattern : keys.patterns()) {
            list += (list.empty() ? "" : ", ") + toml_text(pattern.to_string());
        }
        return "keys = [" + list + "]\n";
    }
    return {};
}

void refuse_twice(const Entry& entry, const std::vector<Token>& before, const Token& token) {
    for (const Token& other : before) {
        if (other.name == token.name) {
            entry.refuse(entry.at("name"), "there is another token '" + token.name + "' above");
        }
        if (other.proof != token.proof) continue;
        if (token.proof == server::Proof::certificate) {
            if (other.certificate == token.certificate) {
                entry.refuse(entry.at("certificate"),
                             "the token '" + other.name + "' has the same certificate");
            }
            continue;
        }
        if (other.digest == token.digest) {
            entry.refuse(entry.at("sha256"), "the token '" + other.name + "' has the same sha256");
        }
    }
}

}  // namespace

std::expected<Roles, std::string> roles_from(const std::vector<std::string>& names) {
    Roles roles;
    for (const std::string& name : names) {
        const auto role = server::role_names.find(name);
        if (!role)
            return std::unexpected{"there is no role '" + name + "'; there are use, see, break"};
        roles.add(*role);
    }
    if (roles.empty()) {
        return std::unexpected{
            "roles takes one or more of use, see, break, as in [\"use\", \"see\"]"};
    }
    return roles;
}

std::expected<void, std::string> check_token_name(std::string_view name) {
    return check_name("name", name);
}

std::expected<void, std::string> check_token_id(std::string_view id) {
    return check_name("id", id);
}

std::expected<void, std::string> check_token_owner(std::string_view owner) {
    if (owner.empty()) {
        return std::unexpected{"the owner is empty; '*' speaks for every owner"};
    }
    if (const auto problem = text_problem("the owner", owner, Limits::owner_bytes, Lines::one)) {
        return std::unexpected{*problem};
    }
    if (owner.ends_with('/') || owner.ends_with("/*")) {
        return std::unexpected{"an owner does not end in '/' or '/*': 'shop' covers 'shop/...'"};
    }
    if (owner != server::any_owner && owner.contains('*')) {
        return std::unexpected{
            "an owner has no star in it, because it is not a pattern: 'shop' covers "
            "'shop/...', and '*' alone covers every owner"};
    }
    return {};
}

std::string owner_is_missing(const std::string& name, const std::string& one,
                             const std::string& any) {
    return "the token '" + name + "' has the role 'use' and names no owner; write " + one +
           " for a token that speaks for 'shop' and 'shop/...', or " + any +
           " for one that speaks for every owner";
}

std::expected<void, std::string> check_certificate_name(std::string_view name) {
    constexpr std::size_t longest = 512;
    for (const std::string_view kind : server::certificate_name_kinds) {
        if (!name.starts_with(kind) || name.size() == kind.size()) continue;
        if (text_problem("the name", name, longest, Lines::one)) break;
        return {};
    }
    return std::unexpected{
        "certificate takes a name of the client's certificate: \"CN=shop\" of its subject, or "
        "\"DNS:shop.example\", \"URI:spiffe://shop/till\" or \"email:till@shop.example\" of its "
        "alternative names"};
}

std::expected<std::chrono::sys_seconds, std::string> moment_from(std::string_view text) {
    const std::unexpected<std::string> wrong{
        "expires takes a date, which means its first moment in UTC, or a date and a time with its "
        "offset: 2027-03-31, 2027-03-31T18:00:00Z, 2027-03-31T18:00:00+09:00"};
    constexpr std::size_t date_letters = 10;
    std::string whole{text};
    if (whole.size() == date_letters) whole += "T00:00:00Z";
    const auto time = wire::time_from(whole);
    if (!time || *time < Time{}) return wrong;
    return std::chrono::floor<std::chrono::seconds>(*time);
}

std::expected<server::Rate, std::string> rate_from(std::int64_t number) {
    if (number < 0 || number > highest_rate) {
        return std::unexpected{"rate takes a whole number of requests a second, at most " +
                               std::to_string(highest_rate) + "; 0 is any number"};
    }
    const auto per_second = static_cast<double>(number);
    return server::Rate{.per_second = per_second, .at_once = per_second};
}

std::vector<Token> read_token_file(const std::string& path) {
    return tokens_in(path, toml_content("the token file", path));
}

std::vector<Token> tokens_in(const std::string& path, std::string_view text) {
    const toml::table table = parse_toml(path, text);
    for (const auto& [key, node] : table) {
        if (key.str() == "token" && node.is_array_of_tables()) continue;
        throw BadRequest{place(path, node.source()) +
                         ": a token file has [[token]] entries only, not '" +
                         std::string{key.str()} + "'"};
    }
    std::vector<Token> tokens;
    if (const toml::array* const entries = table["token"].as_array()) {
        for (const toml::node& node : *entries) {
            const Entry entry{path, *node.as_table()};
            Token token = entry.read();
            refuse_twice(entry, tokens, token);
            tokens.push_back(std::move(token));
        }
    }
    if (tokens.empty()) {
        throw BadRequest{path +
                         ": there is no token in this file; `leasehold token NAME --roles "
                         "use,see --owner OWNER` makes one"};
    }
    if (tokens.size() > most_tokens) {
        throw BadRequest{path + ": a token file has at most " + std::to_string(most_tokens) +
                         " tokens"};
    }
    return tokens;
}

std::string date_time(std::chrono::sys_seconds moment) {
    std::string text = to_string(Time{moment});
    return text.substr(0, text.find('.')) + "Z";
}

std::string token_entry(const Token& token) {
    std::string roles;
    for (const auto& [role, name] : server::role_names) {
        if (!token.roles.has(role)) continue;
        roles.append(roles.empty() ? "\"" : ", \"").append(name).append("\"");
    }
    std::string entry = "[[token]]\nname = \"" + token.name + "\"\n";
    if (!token.id.empty()) entry += "id = \"" + token.id + "\"\n";
    entry += proof_entry(token) + "roles = [" + roles + "]\n";
    if (!token.owner.empty()) entry += "owner = " + toml_text(token.owner) + "\n";
    if (token.rate) {
        entry +=
            "rate = " + std::to_string(static_cast<std::int64_t>(token.rate->per_second)) + "\n";
    }
    token.quotas.for_each([&](server::Quota quota, const std::optional<std::uint64_t>& limit) {
        if (!limit) return;
        entry +=
            std::string{server::quota_traits[quota].name} + " = " + std::to_string(*limit) + "\n";
    });
    if (token.expires) entry += "expires = " + date_time(*token.expires) + "\n";
    return entry + keys_of_entry(token);
}

}  // namespace leasehold::cli
