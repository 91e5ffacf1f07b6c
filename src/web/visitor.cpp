#include <leasehold/web/visitor.hpp>

#include <leasehold/errors.hpp>

#include <algorithm>
#include <cctype>
#include <utility>

#include "core/text.hpp"

namespace leasehold::web {
namespace {

constexpr std::size_t part_bytes = 200;
constexpr std::size_t tab_bytes = 64;

std::string checked_part(std::string_view what, std::string text) {
    if (auto problem = text_problem(what, text, part_bytes, Lines::one)) throw BadRequest{*problem};
    if (text.empty() || text.contains('/')) {
        throw BadRequest{std::string{what} + " must not be empty and must not contain a slash"};
    }
    return text;
}

}  // namespace

Visitor::Visitor(std::string user, std::string session)
    : user_{checked_part("the name of the user", std::move(user))},
      session_{checked_part("the name of the session", std::move(session))} {}

std::string Visitor::owner_in(std::string_view tab) const {
    if (!is_tab_name(tab)) {
        throw BadRequest{"the name of a tab has 1 to 64 letters, digits, \"-\" and \"_\""};
    }
    return owner() + '/' + std::string{tab};
}

bool Visitor::owns(std::string_view owner) const {
    return owner.starts_with(this->owner() + '/');
}

bool is_tab_name(std::string_view text) {
    return !text.empty() && text.size() <= tab_bytes && std::ranges::all_of(text, [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
    });
}

std::string_view user_of(std::string_view owner) {
    return owner.substr(0, owner.find('/'));
}

}  // namespace leasehold::web
