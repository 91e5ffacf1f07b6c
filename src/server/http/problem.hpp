#pragma once

#include <boost/json/object.hpp>

#include <chrono>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "core/enum_table.hpp"
#include "core/phrase.hpp"

// Why a request is refused, as the parts below the protocols say it. Each protocol writes a problem
// in its own form (Protocol::error).
namespace leasehold::server {

// A sentence of the server, in the languages that it is written in.
class Detail {
public:
    Detail() = default;
    // NOLINTBEGIN(*-explicit-*): a sentence is written where a problem is made.
    // In English only.
    Detail(std::string english) { texts_[Language::english] = std::move(english); }
    Detail(std::string_view english) : Detail{std::string{english}} {}
    Detail(const char* english) : Detail{std::string{english}} {}
    Detail(const Phrase& phrase, std::initializer_list<Filling> fillings = {});
    // NOLINTEND(*-explicit-*)
    // `text_in(language)` is the text in that language.
    template <class Function>
    [[nodiscard]] static Detail written_by(const Function& text_in) {
        Detail detail;
        for (const Language language : languages) detail.texts_[language] = text_in(language);
        return detail;
    }

    // The language to use for a client that prefers this one.
    [[nodiscard]] Language language(Language preferred) const {
        return texts_[preferred].empty() ? Language::english : preferred;
    }
    [[nodiscard]] const std::string& in(Language preferred) const {
        return texts_[language(preferred)];
    }
    void put_before(std::string_view text);

private:
    EnumArray<Language, std::string> texts_{};  // empty: not written in that language
};

struct Problem {
    unsigned status = 500;
    std::string_view code{};  // stable; for programs
    Detail detail{};          // for people
    boost::json::object facts{};
    std::string fields{};        // header fields of the reply, each a whole line
    unsigned retry_after_s = 0;  // 0: the reply has no Retry-After
    bool last = false;           // the connection ends with the reply
};

// Thrown to refuse a request.
struct Refused {
    Problem problem;
};

[[nodiscard]] Problem not_found();
[[nodiscard]] Problem takes_no_body();
// Nothing was done; the same request may succeed in a moment.
[[nodiscard]] Problem overloaded(Detail detail);
[[nodiscard]] Problem too_often(Detail detail, std::chrono::duration<double> wait);

}  // namespace leasehold::server
