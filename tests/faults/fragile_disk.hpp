#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

struct sqlite3_vfs;

namespace leasehold::faults {

// The disk under every SQLite file that this process opens while this lives. It fails at exactly
// the chosen change, and records what was flushed and what was not. A change is a write, a
// truncation or a flush of a database or of its log. One at a time; not thread-safe.
class FragileDisk {
public:
    // Whether a torn write can damage neighbouring bytes. If it can, SQLite writes more.
    enum class Promise : std::uint8_t { nothing, safe_overwrite };
    explicit FragileDisk(Promise promise = Promise::safe_overwrite);
    ~FragileDisk();
    FragileDisk(const FragileDisk&) = delete;
    FragileDisk& operator=(const FragileDisk&) = delete;

    // The number of changes since this object was made.
    [[nodiscard]] std::size_t changes() const { return changes_; }

    // The change with this number, counted from 0, and all later ones do not happen, as if the
    // process was killed or the power failed.
    void die_at(std::size_t change) { dies_at_ = change; }
    // From that change on, this many flushes or writes fail with SQLite's error code.
    enum class What : std::uint8_t { flushes, writes };
    void fail_at(std::size_t change, std::size_t count, What what, int code) {
        failure_ = {change, count, what, code};
    }
    // From now on flushes report success and do nothing.
    void lie_about_flushes() { lies_ = true; }
    // Whether a death or a failure has happened.
    [[nodiscard]] bool has_struck() const { return struck_; }

    // Writes the files as another process finds them after this one was killed: with all changes.
    void copy_after_a_kill(const std::filesystem::path& into) const;
    // Writes the files as they are after a power cut: everything that was flushed, and of the rest
    // the sectors that the seed picks.
    void copy_after_a_power_cut(const std::filesystem::path& into, std::uint64_t seed) const;

private:
    friend struct FragileFile;
    friend struct FragileCalls;

    struct Write {
        std::size_t offset;
        std::string bytes;
    };
    struct Content {
        std::string now;
        std::string flushed;
        std::vector<Write> since;  // the last flush
    };
    struct Failure {
        std::size_t from = 0, left = 0;
        What what = What::writes;
        int code = 0;
    };

    // The SQLite error code of the next change if it fails.
    [[nodiscard]] int next_change(What what);

    const Promise promise_;
    std::size_t changes_ = 0;
    std::optional<std::size_t> dies_at_;
    Failure failure_;
    bool struck_ = false;
    bool lies_ = false;
    std::map<std::string, Content> files_;  // by name, without folder

    struct Vfs;
    sqlite3_vfs* real_;
    Vfs* vfs_;
};

}  // namespace leasehold::faults
