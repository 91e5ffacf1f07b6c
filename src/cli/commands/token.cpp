#include <leasehold/errors.hpp>

#include <sys/random.h>

#include <sstream>
#include <system_error>

#include "cli/input.hpp"
#include "cli/output.hpp"
#include "cli/serve/token_file.hpp"
#include "cli/subcommand.hpp"
#include "core/secret_file.hpp"

namespace leasehold::cli {
namespace {

struct TokenOptions {
    std::string name, id, roles, owner, keys, expires, certificate, token_file;
    std::optional<std::int64_t> rate;
};

// 256 random bits. The prefix lets people and secret scanners recognise a token.
std::string draw_token() {
    server::Digest bytes{};
    if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
        throw std::system_error{errno, std::generic_category(), "getrandom"};
    }
    return "lh_" + server::hex_of(bytes);
}

template <class Value>
Value required(const std::expected<Value, std::string>& checked) {
    if (!checked) throw BadRequest{checked.error()};
    if constexpr (!std::is_void_v<Value>) return *checked;
}

// The parts of a text between its commas.
std::vector<std::string> parts_of(const std::string& text) {
    std::vector<std::string> parts;
    std::istringstream all{text};
    for (std::string part; std::getline(all, part, ',');) parts.push_back(part);
    return parts;
}

std::chrono::sys_seconds expiry_in(const std::string& text) {
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    if (const auto duration = parse_duration(text); duration && *duration > Duration::zero()) {
        return now + std::chrono::ceil<std::chrono::seconds>(*duration);
    }
    const auto moment = required(moment_from(text));
    if (moment <= now) throw BadRequest{"--expires takes a moment in the future"};
    return moment;
}

}  // namespace

void add_token(CLI::App& app, Invocation& call) {
    const auto options = std::make_shared<TokenOptions>();
    Subcommand command{
        app, "token", "Make a token for the server's token file",
        "  leasehold token shop --roles use,see --owner shop --expires 90d >> tokens.toml\n"
        "  leasehold token admin --roles see,break --token-file token >> tokens.toml\n"
        "  leasehold serve --tokens tokens.toml\n"
        "\n"
        "Prints the entry for the token file on standard output, and the token itself on\n"
        "standard error. The token is shown only once: the entry holds its SHA-256."};
    command
        .required_text("name", "NAME", options->name,
                       "the token's name, shown in logs and in the history")
        .required_text("--roles", "ROLES", options->roles,
                       "what it may do: use, see, break, separated by commas")
        .text("--owner", "OWNER", options->owner,
              "the owner it speaks for, with every owner below; '*' is any; the role use needs it")
        .text("--id", "ID", options->id,
              "a token with the same id goes on with this one's leases (the name)")
        .text("--keys", "PATTERNS", options->keys,
              "the keys it may touch, separated by commas: 'Order/*,lfs:*' (every key)")
        .number("--rate", "NUMBER", options->rate, "requests a second (the server's token_rate)")
        .text("--expires", "DURATION|DATE", options->expires,
              "when the server stops to accept it: 90d, 2027-03-31, 2027-03-31T18:00:00Z (never)")
        .text("--certificate", "NAME", options->certificate,
              "make no token: clients show a certificate with this name, as in DNS:shop.example")
        .text("--token-file", "FILE", options->token_file,
              "write the token to this file (mode 0600) instead of showing it");
    command.does(call, [options] {
        server::Token token{.name = options->name,
                            .roles = required(roles_from(parts_of(options->roles)))};
        required(check_token_name(token.name));
        if (!options->id.empty()) required(check_token_id(token.id = options->id));
        if (!options->owner.empty()) {
            required(check_token_owner(token.owner = options->owner));
        } else if (token.roles.has(server::Role::use)) {
            throw BadRequest{owner_is_missing(token.name, "--owner shop", "--owner '*'")};
        }
        if (!options->keys.empty()) {
            const KeySet keys = required(server::keys_from(parts_of(options->keys)));
            for (const auto& [role, name] : server::role_names) token.keys.limit(role, keys);
        }
        if (options->rate) token.rate = required(rate_from(*options->rate));
        if (!options->expires.empty()) token.expires = expiry_in(options->expires);
        if (!options->certificate.empty()) {
            if (!options->token_file.empty()) {
                throw BadRequest{"--certificate makes no token that --token-file could save"};
            }
            token.proof = server::Proof::certificate;
            required(check_certificate_name(token.certificate = options->certificate));
            print_as_is(token_entry(token) + '\n');
            return static_cast<int>(done);
        }
        const SecretFile file{{.what = "the token file", .path = options->token_file}};
        const std::string secret = draw_token();
        token.digest = server::digest_of(secret);
        if (options->token_file.empty()) {
            for (const std::string& line :
                 {std::string{"The token, shown only now:"}, std::string{}, "  " + secret,
                  std::string{},
                  std::string{"Its entry for the file that `leasehold serve --tokens` reads:"},
                  std::string{}}) {
                advise(line);
            }
        } else {
            file.write(secret);
        }
        // A comment, in case both outputs go to the token file.
        if (!token.expires) {
            advise(
                "# Warning: this token never expires. --expires 90d, say, bounds what a lost "
                "token can do.");
        }
        print_as_is(token_entry(token) + '\n');
        return static_cast<int>(done);
    });
}

}  // namespace leasehold::cli
