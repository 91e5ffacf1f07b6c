#include "stores/etcd/names.hpp"

#include <algorithm>
#include <charconv>
#include <vector>

#include "core/columns.hpp"

namespace leasehold::etcd {
namespace {

constexpr char separator = '\0';
// The byte after the separator: names that begin with NAME.separator sort before
// NAME.after_separator.
constexpr char after_separator = '\1';
constexpr std::size_t digits = 19;

std::string text_of(const LockKey& key) {
    std::string text{key.type()};
    text += separator;
    text += key.id();
    return text;
}

std::string padded(std::int64_t sequence) {
    const std::string number = std::to_string(sequence);
    return std::string(digits - number.size(), '0') + number;
}

std::vector<std::string_view> parts(std::string_view text) {
    std::vector<std::string_view> found;
    for (;;) {
        const std::size_t end = text.find(separator);
        found.push_back(text.substr(0, end));
        if (end == std::string_view::npos) return found;
        text.remove_prefix(end + 1);
    }
}

std::optional<std::string_view> behind(std::string_view name, const std::string& beginning) {
    if (!name.starts_with(beginning)) return std::nullopt;
    return name.substr(beginning.size());
}

// The key in the second and third part of a name with this many parts.
std::optional<LockKey> key_behind(std::string_view name, const std::string& beginning,
                                  std::size_t size) {
    const auto text = behind(name, beginning);
    const auto found = text ? parts(*text) : std::vector<std::string_view>{};
    if (found.size() != size) return std::nullopt;
    auto key = LockKey::parse(found[1], found[2]);
    return key ? std::optional{*std::move(key)} : std::nullopt;
}

}  // namespace

std::string Names::row(const LockKey& key) const {
    return prefix_ + "lock/" + text_of(key);
}

std::string Names::share(const LockKey& key, LockId lock_id) const {
    return row(key) + separator + lock_id.to_string();
}

KeyRange Names::row_and_shares(const LockKey& key) const {
    const std::string name = row(key);
    return {name, name + after_separator};
}

KeyRange Names::rows(const std::optional<std::string>& type,
                     const std::optional<LockKey>& after) const {
    const std::string all = prefix_ + "lock/";
    KeyRange range = type ? KeyRange{all + *type + separator, all + *type + after_separator}
                          : KeyRange{all, prefix_ + "lock0"};
    if (after) range.first = std::max(range.first, row(*after) + after_separator);
    return range;
}

std::string Names::lease(LockId lock_id) const {
    return prefix_ + "lease/" + lock_id.to_string();
}

std::string Names::lease(LockId lock_id, const LockKey& key) const {
    return lease(lock_id) + separator + text_of(key);
}

KeyRange Names::leases(LockId lock_id) const {
    const std::string name = lease(lock_id);
    return {name, name + after_separator};
}

std::string Names::owned(const std::string& owner, const LockKey& key, LockId lock_id) const {
    return prefix_ + "owner/" + owner + separator + text_of(key) + separator + lock_id.to_string();
}

KeyRange Names::owned_by(const std::string& owner) const {
    const std::string name = prefix_ + "owner/" + owner;
    return {name + separator, name + after_separator};
}

KeyRange Names::owned_below(const std::string& owner) const {
    const PathRange range{owner};
    return {prefix_ + "owner/" + range.from, prefix_ + "owner/" + range.before};
}

std::string Names::ended(LockId lock_id, const LockKey& key, Fence fence) const {
    return prefix_ + "ended/" + lock_id.to_string() + separator + text_of(key) + separator +
           std::to_string(fence);
}

KeyRange Names::all_ended() const {
    return {prefix_ + "ended/", prefix_ + "ended0"};
}

std::string Names::past(std::int64_t sequence) const {
    return prefix_ + "past/" + padded(sequence);
}

std::string Names::past_of(const LockKey& key, std::int64_t sequence) const {
    return prefix_ + "past-of/" + text_of(key) + separator + padded(sequence);
}

KeyRange Names::pasts(std::int64_t from, std::int64_t before) const {
    return {past(from), past(before)};
}

KeyRange Names::pasts_of(const LockKey& key, std::int64_t before) const {
    return {past_of(key, 0), past_of(key, before)};
}

std::optional<Names::Part> Names::part_of(std::string_view name) const {
    const auto text = behind(name, prefix_ + "lock/");
    if (!text) return std::nullopt;
    const auto found = parts(*text);
    if (found.size() < 2 || found.size() > 3) return std::nullopt;
    auto key = LockKey::parse(found[0], found[1]);
    if (!key) return std::nullopt;
    Part part{.key = *std::move(key)};
    if (found.size() == 3) part.share = lock_id_from(found[2]);
    return part;
}

std::optional<LockKey> Names::key_owned(std::string_view name) const {
    return key_behind(name, prefix_ + "owner/", 4);
}

std::optional<LockKey> Names::key_of_lease(std::string_view name) const {
    return key_behind(name, prefix_ + "lease/", 3);
}

std::int64_t Names::sequence_of(std::string_view name) {
    if (name.size() < digits) return 0;
    name.remove_prefix(name.size() - digits);
    std::int64_t number = 0;
    std::from_chars(name.data(), name.data() + name.size(), number);
    return number;
}

}  // namespace leasehold::etcd
