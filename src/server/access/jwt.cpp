#include "server/access/jwt.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <leasehold/errors.hpp>
#include <leasehold/limits.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>
#include <utility>

#include "core/text.hpp"
#include "wire/json.hpp"

namespace leasehold::server {
namespace {

namespace json = boost::json;
using std::chrono::sys_seconds;

[[noreturn]] void refuse(const char* why) {
    throw BadRequest{why};
}

// The three parts, still encoded.
struct Parts {
    explicit Parts(std::string_view jwt) {
        const std::size_t first = jwt.find('.');
        const std::size_t second = jwt.find('.', std::min(first, jwt.size() - 1) + 1);
        if (first == std::string_view::npos || second == std::string_view::npos) {
            refuse("a JWT has three parts");
        }
        header = jwt.substr(0, first);
        claims = jwt.substr(first + 1, second - first - 1);
        signature = jwt.substr(second + 1);
        message = jwt.substr(0, second);
    }

    std::string_view header, claims, signature;
    std::string_view message;  // that is signed
};

std::string bytes_in(std::string_view part) {
    auto decoded = decoded_base64url(part);
    if (!decoded) refuse("a part of the JWT is not base64url");
    return *std::move(decoded);
}

json::object object_in(std::string_view part) {
    json::value value = wire::parse(bytes_in(part));
    if (!value.is_object()) refuse("a part of the JWT is not an object");
    return std::move(value.get_object());
}

std::optional<std::string> text_in(const json::object& object, std::string_view name) {
    const json::value* const value = object.if_contains(name);
    if (value == nullptr) return std::nullopt;
    if (!value->is_string()) refuse("a claim of the JWT is not a text");
    return std::string{value->get_string()};
}

// The key that the header names, if it is for the header's algorithm.
const VerificationKey& key_for(const json::object& header, const VerificationKeys& keys) {
    if (header.contains("crit")) refuse("the JWT demands an extension");
    const auto type = text_in(header, "typ");
    if (type && lower(*type) != "jwt" && lower(*type) != "at+jwt")
        refuse("this JWT is not an access token");
    const VerificationKey* const key = keys.find(text_in(header, "kid"));
    if (key == nullptr) refuse("the JWT's key is not known");
    if (text_in(header, "alg") != key->algorithm()) refuse("the key is for another algorithm");
    return *key;
}

// Seconds since 1970, with or without a fraction; nothing if the claim is missing.
std::optional<sys_seconds> moment_in(const json::object& claims, std::string_view name) {
    constexpr double end_of_year_9999 = 253'402'300'799;
    const json::value* const value = claims.if_contains(name);
    if (value == nullptr) return std::nullopt;
    if (!value->is_number()) refuse("a time in the JWT is not a number");
    const auto seconds = value->to_number<double>();
    if (!(seconds >= 0 && seconds <= end_of_year_9999)) refuse("a time in the JWT is out of range");
    return sys_seconds{std::chrono::seconds{static_cast<std::int64_t>(std::floor(seconds))}};
}

bool is_for(const json::object& claims, std::string_view audience) {
    const json::value* const value = claims.if_contains("aud");
    if (value == nullptr) return false;
    if (value->is_string()) return value->get_string() == audience;
    return value->is_array() &&
           std::ranges::any_of(value->get_array(), [&](const json::value& one) {
               return one.is_string() && one.get_string() == audience;
           });
}

// The claim of this name, or the one that the dots in the name lead to.
const json::value* claim_in(const json::object& claims, std::string_view name) {
    if (const json::value* const exact = claims.if_contains(name)) return exact;
    const std::size_t dot = name.find('.');
    if (dot == std::string_view::npos) return nullptr;
    const json::value* const outer = claims.if_contains(name.substr(0, dot));
    if (outer == nullptr) return nullptr;
    if (!outer->is_object()) refuse("the JWT has a claim in another form than its name says");
    return claim_in(outer->get_object(), name.substr(dot + 1));
}

std::string owner_in(const json::object& claims, const JwtRules& rules) {
    const json::value* const claim = claim_in(claims, rules.owner_claim);
    if (claim == nullptr || !claim->is_string()) refuse("the JWT names no owner");
    std::string owner{claim->get_string()};
    if (owner.empty() || owner.starts_with('/') || owner.ends_with('/')) {
        refuse("the JWT's owner is not a valid owner");
    }
    if (!rules.owner_prefix.empty()) owner.insert(0, rules.owner_prefix + '/');
    // No claim makes a bearer speak for every owner.
    if (owner == any_owner || text_problem("", owner, Limits::owner_bytes, Lines::one)) {
        refuse("the JWT's owner is not a valid owner");
    }
    return owner;
}

void add_role(Roles& roles, std::string_view name) {
    if (const auto role = role_names.find(name)) roles.add(*role);
}

// An array of texts, or one text with spaces, as "scope" has it.
Roles roles_in(const json::object& claims, const JwtRules& rules) {
    Roles roles;
    const json::value* const claim = claim_in(claims, rules.roles_claim);
    if (claim == nullptr) return roles;
    if (claim->is_array()) {
        for (const json::value& one : claim->get_array()) {
            if (one.is_string()) add_role(roles, one.get_string());
        }
    } else if (claim->is_string()) {
        std::istringstream words{std::string{claim->get_string()}};
        for (std::string word; words >> word;) add_role(roles, word);
    }
    return roles;
}

// As in the token file: a list of patterns, or one. A claim that cannot be read limits to nothing,
// so the JWT is refused.
KeyRules keys_in(const json::object& claims, const JwtRules& rules) {
    KeyRules limits;
    const json::value* const claim =
        rules.keys_claim.empty() ? nullptr : claim_in(claims, rules.keys_claim);
    if (claim == nullptr) return limits;
    std::vector<std::string> texts;
    if (claim->is_string()) texts.emplace_back(claim->get_string());
    if (claim->is_array()) {
        for (const json::value& one : claim->get_array()) {
            if (!one.is_string()) refuse("a pattern of keys in the JWT is not a text");
            texts.emplace_back(one.get_string());
        }
    }
    const auto keys = keys_from(texts);
    if (!keys) refuse("the JWT's keys are not key patterns");
    for (const auto& [role, name] : role_names) limits.limit(role, *keys);
    return limits;
}

// Of everything that decides who the bearer of a JWT is. The leeway only decides when.
Digest digest_of_rules(const JwtRules& rules) {
    std::string all;
    for (const std::string* const part :
         {&rules.issuer, &rules.audience, &rules.owner_claim, &rules.roles_claim, &rules.keys_claim,
          &rules.owner_prefix}) {
        all += std::to_string(part->size()) + ':' + *part;
    }
    return digest_of(all);
}

// The id that rates, quotas and leases count by: the same for all JWTs of one bearer. No entry of a
// token file can have it.
std::string id_of_bearer(const std::string& issuer, const std::string& owner) {
    constexpr std::size_t digits = 32;
    return "jwt:" + hex_of(digest_of(issuer + '\n' + owner)).substr(0, digits);
}

// The owner, shortened where it is long.
std::string name_of_bearer(const std::string& owner, const std::string& id) {
    constexpr std::size_t shown_whole = 60;
    constexpr std::size_t shown = 40;
    constexpr std::size_t digits = 20;
    if (owner.size() <= shown_whole) return "jwt:" + owner;
    std::size_t end = shown;
    while (end > 0 && (static_cast<unsigned char>(owner[end]) & 0xC0U) == 0x80U) --end;
    return "jwt:" + owner.substr(0, end) + "-" + id.substr(4, digits);
}

}  // namespace

JwtVerifier::JwtVerifier(VerificationKeys keys, JwtRules rules, std::size_t most)
    : keys_{std::move(keys)},
      rules_{std::move(rules)},
      rules_digest_{digest_of_rules(rules_)},
      most_{most} {}

std::shared_ptr<const Token> JwtVerifier::find(std::string_view jwt, const Digest& digest,
                                               WallClock::time_point now) const {
    auto token = recall(digest);
    if (!token) {
        try {
            Token made = verified(jwt, now);
            made.digest = digest;
            token = std::make_shared<const Token>(std::move(made));
        } catch (const BadRequest&) {
            return nullptr;
        }
        remember(digest, token);
    }
    return is_expired(*token, now) ? nullptr : token;
}

std::shared_ptr<const Token> JwtVerifier::find_remembered(const Digest& digest,
                                                          WallClock::time_point now) const {
    auto token = recall(digest);
    return token && !is_expired(*token, now) ? token : nullptr;
}

Token JwtVerifier::verified(std::string_view jwt, WallClock::time_point now) const {
    ++verifications_;
    if (jwt.empty() || jwt.size() > longest_jwt) refuse("the JWT is too long");
    const Parts parts{jwt};
    const VerificationKey& key = key_for(object_in(parts.header), keys_);
    if (!key.verifies(parts.message, bytes_in(parts.signature))) refuse("the signature is wrong");

    const json::object claims = object_in(parts.claims);
    if (text_in(claims, "iss") != rules_.issuer) refuse("the JWT is of another issuer");
    if (!is_for(claims, rules_.audience)) refuse("the JWT is for another audience");
    const auto expires = moment_in(claims, "exp");
    if (!expires) refuse("the JWT never expires");
    const auto begins = moment_in(claims, "nbf");
    const auto second = std::chrono::floor<std::chrono::seconds>(now);
    if (begins && *begins > second + rules_.leeway) refuse("the JWT is not valid yet");

    std::string owner = owner_in(claims, rules_);
    std::string id = id_of_bearer(rules_.issuer, owner);
    Token token{.name = name_of_bearer(owner, id),
                .id = std::move(id),
                .roles = roles_in(claims, rules_),
                .owner = std::move(owner),
                .expires = *expires + rules_.leeway,
                .proof = Proof::jwt,
                .jwt_key = key.digest(),
                .jwt_rules = rules_digest_,
                .keys = keys_in(claims, rules_)};
    if (is_expired(token, now)) refuse("the JWT has expired");
    return token;
}

std::shared_ptr<const Token> JwtVerifier::recall(const Digest& digest) const {
    const std::lock_guard lock{mutex_};
    if (const auto found = young_.find(digest); found != young_.end()) return found->second;
    const auto found = old_.find(digest);
    return found != old_.end() ? found->second : nullptr;
}

void JwtVerifier::remember(const Digest& digest, std::shared_ptr<const Token> token) const {
    const std::lock_guard lock{mutex_};
    if (young_.size() >= most_ / 2) old_ = std::exchange(young_, {});
    young_.insert_or_assign(digest, std::move(token));
}

}  // namespace leasehold::server
