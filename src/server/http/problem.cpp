#include "server/http/problem.hpp"

#include <algorithm>
#include <cmath>

#include "server/http/phrases.hpp"

namespace leasehold::server {

Detail::Detail(const Phrase& phrase, std::initializer_list<Filling> fillings)
    : Detail{written_by([&](Language language) { return phrase.in(language, fillings); })} {}

void Detail::put_before(std::string_view text) {
    for (const Language language : languages) {
        std::string& written = texts_[language];
        if (!written.empty()) written.insert(0, text);
    }
}

Problem not_found() {
    return {.status = 404, .code = "not_found", .detail = phrases::not_found};
}

Problem takes_no_body() {
    return {.status = 400, .code = "bad_request", .detail = "this request takes no body"};
}

Problem overloaded(Detail detail) {
    return {.status = 503, .code = "overloaded", .detail = std::move(detail), .retry_after_s = 1};
}

Problem too_often(Detail detail, std::chrono::duration<double> wait) {
    constexpr double longest_s = 3600;
    return {.status = 429,
            .code = "too_many_requests",
            .detail = std::move(detail),
            .retry_after_s =
                static_cast<unsigned>(std::clamp(std::ceil(wait.count()), 1.0, longest_s))};
}

}  // namespace leasehold::server
