#include "server/v1/search.hpp"

#include <leasehold/errors.hpp>
#include <leasehold/limits.hpp>

#include "core/text.hpp"

namespace leasehold::server::v1 {

Search::Search(std::string_view text) : text_{lower(text)} {
    if (text.size() > Limits::note_bytes) {
        throw BadRequest{"\"contains\" must have at most " + std::to_string(Limits::note_bytes) +
                         " bytes"};
    }
    shorter_.resize(text_.size() + 1);
    for (std::size_t length = 2, fitting = 0; length <= text_.size(); ++length) {
        const char last = text_[length - 1];
        while (fitting > 0 && text_[fitting] != last) fitting = shorter_[fitting];
        if (text_[fitting] == last) ++fitting;
        shorter_[length] = fitting;
    }
}

bool Search::is_in(std::string_view whole) {
    if (whole.size() < text_.size()) return false;
    std::size_t fitting = 0;  // the length of the beginning of the text that ends here
    for (const char original : whole) {
        const char letter = lower_letter(original);
        bool fits_here = fits(fitting, letter);
        while (!fits_here && fitting > 0) {
            fitting = shorter_[fitting];
            fits_here = fits(fitting, letter);
        }
        if (fits_here && ++fitting == text_.size()) return true;
    }
    return false;
}

bool Search::finds(const Holder& holder) {
    if (text_.empty()) return true;
    return is_in(holder.key.to_string()) || is_in(holder.key.id()) || is_in(holder.key.type()) ||
           is_in(holder.owner) || is_in(holder.note);
}

}  // namespace leasehold::server::v1
