#include "core/key_template.hpp"

#include <leasehold/lock_key.hpp>

#include <algorithm>
#include <utility>

namespace leasehold {
namespace {

std::unexpected<std::string> bad_template(std::string_view text, const std::string& why) {
    return std::unexpected{"the key '" + std::string{text} + "' " + why +
                           "; write a type, a slash and an id, with columns in braces, as in "
                           "Order/{id}"};
}

// A key that the template could make.
std::string sample_of(const KeyTemplate::Parts& parts) {
    std::string sample;
    for (const KeyTemplate::Part& part : parts) {
        sample += part.kind == KeyTemplate::Part::Kind::column ? "x" : part.text;
    }
    return sample;
}

}  // namespace

std::expected<KeyTemplate, std::string> KeyTemplate::parse(std::string_view text) {
    using Kind = Part::Kind;
    KeyTemplate read;
    read.text_ = text;
    Parts* parts = &read.type_;
    for (std::size_t at = 0; at < text.size();) {
        if (text[at] == '{') {
            const std::size_t close = text.find('}', at);
            if (close == std::string_view::npos) return bad_template(text, "has a '{' without '}'");
            if (close == at + 1) return bad_template(text, "has braces without a column");
            parts->push_back({Kind::column, std::string{text.substr(at + 1, close - at - 1)}});
            at = close + 1;
        } else if (text[at] == '}') {
            return bad_template(text, "has a '}' without '{'");
        } else if (text[at] == '/' && parts == &read.type_) {
            parts = &read.id_;
            ++at;
        } else {
            const std::size_t end =
                std::min(text.find_first_of(parts == &read.type_ ? "{}/" : "{}", at), text.size());
            parts->push_back({Kind::text, std::string{text.substr(at, end - at)}});
            at = end;
        }
    }
    if (parts == &read.type_) return bad_template(text, "has no '/' outside braces");
    if (const auto key = LockKey::parse(sample_of(read.type_), sample_of(read.id_)); !key) {
        return bad_template(text, "makes no valid key: " + key.error());
    }
    return read;
}

std::vector<std::string> KeyTemplate::columns() const {
    std::vector<std::string> names;
    for (const Parts* parts : {&type_, &id_}) {
        for (const Part& part : *parts) {
            if (part.kind != Part::Kind::column) continue;
            if (std::ranges::find(names, part.text) == names.end()) names.push_back(part.text);
        }
    }
    return names;
}

KeyTemplate KeyTemplate::with_columns(
    const std::function<std::string(const std::string&)>& spelled) const {
    KeyTemplate changed = *this;
    changed.text_.clear();
    for (Parts* parts : {&changed.type_, &changed.id_}) {
        if (parts == &changed.id_) changed.text_ += '/';
        for (Part& part : *parts) {
            if (part.kind == Part::Kind::column) {
                part.text = spelled(part.text);
                changed.text_ += '{' + part.text + '}';
            } else {
                changed.text_ += part.text;
            }
        }
    }
    return changed;
}

std::string sql_expression(const KeyTemplate::Parts& parts, std::string_view between,
                           const std::function<std::string(const std::string&)>& text,
                           const std::function<std::string(const std::string&)>& column) {
    std::string sql;
    for (const KeyTemplate::Part& part : parts) {
        if (!sql.empty()) sql += between;
        sql += part.kind == KeyTemplate::Part::Kind::column ? column(part.text) : text(part.text);
    }
    return sql;
}

}  // namespace leasehold
