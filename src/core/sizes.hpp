#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <leasehold/limits.hpp>
#include <leasehold/queries.hpp>

#include "core/grant.hpp"

// How large answers are, and where they end. Texts count with their size in JSON, where a tab takes
// six bytes.
namespace leasehold {

// The bytes of the text between the quotes of a JSON string.
[[nodiscard]] inline std::size_t bytes_in_json(std::string_view text) noexcept {
    std::size_t bytes = text.size();
    for (const char c : text) {
        if (c == '"' || c == '\\' || c == '\n') {
            bytes += 1;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            bytes += 5;
        }
    }
    return bytes;
}

// The bytes that a row of an answer is counted with besides its texts.
inline constexpr std::size_t row_bytes = 64;

// The size of a lease, a holder or a grant in an answer.
template <class T>
[[nodiscard]] std::size_t size_of(const LockKey& key, const T& lease) {
    std::size_t bytes = row_bytes + bytes_in_json(key.type()) + bytes_in_json(key.id());
    for_each_field(public_fields, [&](const auto& field) {
        using Value = std::remove_cvref_t<decltype(field.of(lease))>;
        if constexpr (std::is_same_v<Value, std::string>) bytes += bytes_in_json(field.of(lease));
    });
    return bytes;
}
[[nodiscard]] inline std::size_t size_of(const Lease& lease) {
    return size_of(lease.key, lease);
}
[[nodiscard]] inline std::size_t size_of(const Holder& holder) {
    return size_of(holder.key, holder);
}
[[nodiscard]] inline std::size_t size_of(const PastLease& past) {
    return size_of(past.lease) + bytes_in_json(past.by) + bytes_in_json(past.why);
}

// Ends a page where it would exceed Limits::page_bytes. The first row always stays.
template <class T>
void cut_to_size(Page<T>& page) {
    std::size_t bytes = 0;
    for (std::size_t rows = 0; rows < page.items.size(); ++rows) {
        bytes += size_of(page.items[rows]);
        if (bytes <= Limits::page_bytes || rows == 0) continue;
        page.items.erase(page.items.begin() + static_cast<std::ptrdiff_t>(rows), page.items.end());
        page.cut = true;
        page.looked_up_to.reset();
        return;
    }
}

// Collects the holders that a refusal names, and counts the others: names the first ones, up to one
// that does not fit. The sizes of the holders after that one are not computed, because a thousand
// may share a key.
class NamedHolders {
public:
    void add(const LockKey& key, const Grant& grant) {
        ++in_all_;
        if (!full_ && has_room_for(size_of(key, grant))) named_.push_back(to_holder(key, grant));
    }
    void add(Holder holder) {
        ++in_all_;
        if (!full_ && has_room_for(size_of(holder))) named_.push_back(std::move(holder));
    }
    // The holders of another refusal.
    void add(Refusal refusal) {
        const std::size_t named = refusal.holders.size();
        for (Holder& holder : refusal.holders) add(std::move(holder));
        in_all_ += std::max(refusal.holders_in_all, named) - named;
    }

    [[nodiscard]] bool empty() const noexcept { return in_all_ == 0; }

    // The refusal of a key that they hold.
    [[nodiscard]] Refusal refusal(Time store_now) && {
        Refusal refusal;
        refusal.kind = Refusal::Kind::held;
        refusal.holders = std::move(named_);
        refusal.holders_in_all = in_all_;
        refusal.store_now = store_now;
        return refusal;
    }

private:
    [[nodiscard]] bool has_room_for(std::size_t bytes) {
        full_ = named_.size() == Limits::named_holders ||
                (!named_.empty() && bytes_ + bytes > Limits::named_holders_bytes);
        if (!full_) bytes_ += bytes;
        return !full_;
    }

    std::vector<Holder> named_;
    std::size_t bytes_ = 0;
    std::size_t in_all_ = 0;
    bool full_ = false;
};

}  // namespace leasehold
