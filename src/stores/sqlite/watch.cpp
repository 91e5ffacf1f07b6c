#include "stores/sqlite/watch.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "core/retry.hpp"
#include "stores/sqlite/database.hpp"
#include "stores/sqlite/rows.hpp"

namespace leasehold::sqlite {
namespace {

using namespace std::chrono_literals;

constexpr Duration shortest_pause = 2ms;
// The watch spends at most 1/20 of its time on looking, however many keys there are.
constexpr int seldom = 20;

Database open_to_read(const std::string& path) {
    ::sqlite3* raw = nullptr;
    const int code =
        sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nullptr);
    Database db{raw, Close{}};
    if (code != SQLITE_OK) {
        throw StoreFault{StoreFault::Effect::none, StoreFault::Cause::unavailable,
                         "sqlite: a watch cannot open " + path};
    }
    sqlite3_busy_timeout(
        db.get(),
        static_cast<int>(
            std::chrono::ceil<std::chrono::milliseconds>(retries::sqlite_writer_patience).count()));
    return db;
}

class Watch final : public StoreWatch {
public:
    Watch(std::string path, std::size_t version) : path_{std::move(path)}, version_{version} {}

    [[nodiscard]] std::vector<LockKey> wait(std::span<const LockKey> keys,
                                            const std::stop_token& stop) override {
        if (!file_) file_.emplace(path_, version_);
        std::erase_if(leases_, [&](const auto& known) {
            return !std::ranges::binary_search(keys, known.first);
        });
        std::vector<LockKey> found;
        for (const LockKey& key : keys) {
            const auto [known, is_new] = leases_.try_emplace(key);
            if (!is_new) continue;
            known->second = leases_of(key);
            found.push_back(key);
        }
        while (found.empty() && pause(stop)) {
            const auto begun = SteadyClock::now();
            if (file_->has_changed()) found = look();
            took_ = std::chrono::floor<Duration>(SteadyClock::now() - begun);
        }
        return found;
    }

private:
    struct File {
        File(const std::string& path, std::size_t version)
            : db{open_to_read(path)},
              rows{db.get(), version},
              data_version{db.get(), "pragma data_version"} {
            (void)has_changed();
        }

        [[nodiscard]] bool has_changed() {
            const Resetting at_end{data_version};
            data_version.step();
            const std::int64_t now = data_version.integer(0);
            return std::exchange(seen, now) != now;
        }

        Database db;
        Rows rows;
        Statement data_version;
        std::int64_t seen = 0;
    };

    // False if `stop` was requested.
    [[nodiscard]] bool pause(const std::stop_token& stop) const {
        std::mutex mutex;
        std::condition_variable_any nothing;
        std::unique_lock lock{mutex};
        nothing.wait_for(lock, stop, std::max(shortest_pause, took_ * seldom),
                         [] { return false; });
        return !stop.stop_requested();
    }

    struct Leases {
        std::vector<Fence> live{};  // sorted
        Fence latest = 0;           // live or not
        bool is_exclusive = false;
    };

    [[nodiscard]] Leases leases_of(const LockKey& key) {
        const Known known = file_->rows.find(key);
        Leases leases{.latest = known.row.fence};
        if (known.rowid == 0 || known.row.ended != Gone::unknown) return leases;
        leases.is_exclusive = known.row.mode == Mode::exclusive;
        if (leases.is_exclusive) leases.live.push_back(known.row.fence);
        for (const Grant& share : known.shares) leases.live.push_back(share.fence);
        std::ranges::sort(leases.live);
        return leases;
    }

    // The keys of which a lease has ended since the last look.
    [[nodiscard]] std::vector<LockKey> look() {
        std::vector<LockKey> ended;
        for (auto& [key, before] : leases_) {
            Leases now = leases_of(key);
            // A lease may have come and gone between two looks. Beside an exclusive lease that
            // makes no difference.
            const bool unseen = now.latest != before.latest && !now.is_exclusive;
            if (unseen || !std::ranges::includes(now.live, before.live)) ended.push_back(key);
            before = std::move(now);
        }
        return ended;
    }

    const std::string path_;
    const std::size_t version_;
    std::optional<File> file_;
    std::map<LockKey, Leases> leases_;  // as seen last
    Duration took_{};                   // the last look
};

}  // namespace

std::unique_ptr<StoreWatch> make_watch(const std::string& path, std::size_t version) {
    return std::make_unique<Watch>(path, version);
}

}  // namespace leasehold::sqlite
