#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <leasehold/store.hpp>

// How values are written in the columns of a database, the same in all of them.
namespace leasehold {

[[nodiscard]] inline Time time_from(std::int64_t micros) {
    return Time{Duration{micros}};
}
[[nodiscard]] inline std::int64_t micros(Time time) {
    return time.time_since_epoch().count();
}

[[nodiscard]] inline std::int64_t number_of(Mode mode) {
    return mode == Mode::shared ? 1 : 0;
}
[[nodiscard]] inline Mode mode_from(std::int64_t number) {
    return number == 1 ? Mode::shared : Mode::exclusive;
}

// 0 for a lease that has not ended.
[[nodiscard]] inline std::int64_t number_of(Gone gone) {
    return static_cast<std::int64_t>(gone);
}
[[nodiscard]] inline Gone gone_from(std::int64_t number) {
    const bool known = number > 0 && number <= number_of(Gone::broken);
    return known ? static_cast<Gone>(number) : Gone::unknown;
}

// Other programs that share the table may have written ids of another form. They become the nil id,
// which no request can name.
[[nodiscard]] inline LockId lock_id_from(std::string_view text) {
    return LockId::parse(text).value_or(LockId{});
}

// The owners below a path, in byte order: from <= owner < before.
struct PathRange {
    explicit PathRange(const std::string& path) : from{path + '/'}, before{path + '0'} {}
    std::string from;
    std::string before;  // '0' follows '/'
};

inline void sort_and_unite(std::vector<LockKey>& keys) {
    std::ranges::sort(keys);
    const auto repeated = std::ranges::unique(keys);
    keys.erase(repeated.begin(), repeated.end());
}

}  // namespace leasehold
