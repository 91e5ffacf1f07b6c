#include "server/v1/search.hpp"

#include <cstring>

#include <leasehold/errors.hpp>
#include <leasehold/limits.hpp>

#include "core/text.hpp"

namespace leasehold::server::v1 {

Search::Search(std::string_view text) : text_{lower(text)} {
    if (text.size() > Limits::note_bytes) {
        throw BadRequest{"\"contains\" must have at most " + std::to_string(Limits::note_bytes) +
                         " bytes"};
    }
}

bool Search::is_in(std::string_view whole) {
    if (whole.size() < text_.size()) return false;
    lowered_.assign(whole);
    for (char& c : lowered_) c = lower_letter(c);
    return ::memmem(lowered_.data(), lowered_.size(), text_.data(), text_.size()) != nullptr;
}

bool Search::finds(const Holder& holder) {
    if (text_.empty()) return true;
    return is_in(holder.key.to_string()) || is_in(holder.key.id()) || is_in(holder.key.type()) ||
           is_in(holder.owner) || is_in(holder.note);
}

}  // namespace leasehold::server::v1
