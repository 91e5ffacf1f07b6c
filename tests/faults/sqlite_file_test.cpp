// What other programs can do to the file in which an SQLite store keeps its leases.
#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

#include <leasehold/stores/sqlite.hpp>

#include "faults/databases.hpp"

namespace leasehold::faults {
namespace {

std::vector<On<Database>> only_sqlite() {
    std::vector<On<Database>> all = every_database();
    std::erase_if(all, [](const auto& on) { return std::string_view{on.store} != "sqlite"; });
    return all;
}

using SqliteFile = DatabaseTest;
INSTANTIATE_TEST_SUITE_P(, SqliteFile, ::testing::ValuesIn(only_sqlite()), by_store());

// Runs a function once, when a connection opened after this object begins a statement.
class Interruption {
public:
    Interruption(std::string_view statement, std::function<void()> action)
        : statement_{statement}, action_{std::move(action)} {
        current = this;
        sqlite3_auto_extension(reinterpret_cast<void (*)()>(watch));
    }
    Interruption(const Interruption&) = delete;
    Interruption& operator=(const Interruption&) = delete;
    ~Interruption() { current = nullptr; }

    // Connections opened from now on are not watched.
    static void watch_no_more() {
        sqlite3_cancel_auto_extension(reinterpret_cast<void (*)()>(watch));
    }
    [[nodiscard]] bool happened() const { return !action_; }

private:
    static int watch(sqlite3* db, const char** /*problem*/, const void* /*api*/) {
        return sqlite3_trace_v2(db, SQLITE_TRACE_STMT, begun, nullptr);
    }
    static int begun(unsigned /*event*/, void* /*context*/, void* /*statement*/, void* sql) {
        if (current == nullptr || !current->action_) return 0;
        const std::string_view text{static_cast<const char*>(sql)};
        if (text.contains(current->statement_)) std::exchange(current->action_, {})();
        return 0;
    }

    static inline Interruption* current = nullptr;
    std::string_view statement_;
    std::function<void()> action_;
};

TEST_P(SqliteFile, IsForItsOwnersEyesAlone) {
    namespace fs = std::filesystem;
    const testing::TemporaryFolder folder;
    const std::string path = (folder.path() / "locks.db").string();
    const auto rights = [](const std::string& file) { return fs::status(file).permissions(); };
    const mode_t before = ::umask(0);
    {
        LockManager locks{open_store("sqlite:" + path)};
        ASSERT_TRUE(locks.try_lock({"Order", "1"}));
        for (const char* file : {"", "-wal", "-shm"}) {
            EXPECT_EQ(rights(path + file), fs::perms::owner_read | fs::perms::owner_write) << file;
        }
    }
    fs::permissions(path, fs::perms::group_read, fs::perm_options::add);
    {
        LockManager locks{open_store("sqlite:" + path)};
        ASSERT_TRUE(locks.try_lock({"Order", "2"}));
        for (const char* file : {"", "-wal", "-shm"}) {
            EXPECT_EQ(rights(path + file),
                      fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read)
                << file;
        }
    }
    ::umask(before);
}

TEST_P(SqliteFile, ThatIsNoMoreTheOneAtItsPathIsNotUsed) {
    namespace fs = std::filesystem;
    const testing::TemporaryFolder folder;
    const fs::path path = folder.path() / "locks.db";
    const fs::path away = folder.path() / "away.db";
    LockManager locks{open_store("sqlite:" + path.string())};
    const LockKey key{"Order", "1"};
    const auto lease = locks.try_lock(key, {.ttl = 1h});
    ASSERT_TRUE(lease);

    const auto expect_no_answer = [&](const char* what) {
        const std::vector<std::function<void()>> questions{
            [&] { (void)locks.try_lock({"Order", "2"}); },
            [&] { (void)locks.check(lease->lock_id); },
            [&] { (void)locks.holders(key); },
            [&] { (void)locks.list({}); },
        };
        for (const auto& ask : questions) {
            try {
                ask();
                ADD_FAILURE() << what;
            } catch (const StoreFault& fault) {
                EXPECT_EQ(fault.effect(), StoreFault::Effect::none) << what;
                EXPECT_TRUE(std::string_view{fault.what()}.contains("moved, replaced or deleted"))
                    << fault.what();
            }
        }
    };
    fs::rename(path, away);
    expect_no_answer("moved");
    std::ofstream{path} << "";
    expect_no_answer("replaced");
    fs::rename(away, path);
    EXPECT_TRUE(locks.check(lease->lock_id));
    EXPECT_TRUE(locks.try_lock({"Order", "2"}));
}

TEST_P(SqliteFile, ReadsAKeyAndItsSharesInOneState) {
    const LockKey key{"Order", "1"};
    LockManager others{open_store(url())};
    const auto lease = others.try_lock(key, {.owner = "alice", .mode = Mode::shared, .ttl = 1min});
    ASSERT_TRUE(lease);

    Interruption conversion{"from lock_shares where type", [&] {
                                EXPECT_TRUE(others.try_lock(key, {.owner = "alice", .ttl = 1min}));
                            }};
    LockManager locks{open_store(url())};
    Interruption::watch_no_more();

    EXPECT_TRUE(locks.check(key, lease->lock_id));
    EXPECT_TRUE(conversion.happened());
    EXPECT_TRUE(locks.check(key, lease->lock_id));
}

// An application may bring its own SQLite VFS, without the functions that SQLite does not require.
class OwnWayToFiles {
public:
    // Which files have the promise that a torn write does not damage neighbouring bytes.
    enum class Promised : std::uint8_t { of_every_file, not_of_the_database };

    explicit OwnWayToFiles(Promised promised = Promised::of_every_file)
        : standard_{sqlite3_vfs_find(nullptr)}, own_{*standard_} {
        own_.zName = "own";
        own_.pAppData = standard_;
        own_.xOpen = promised == Promised::of_every_file ? open : open_promising_less;
        own_.xGetLastError = nullptr;
        sqlite3_vfs_register(&own_, 1);
    }
    OwnWayToFiles(const OwnWayToFiles&) = delete;
    OwnWayToFiles& operator=(const OwnWayToFiles&) = delete;
    ~OwnWayToFiles() {
        sqlite3_vfs_unregister(&own_);
        sqlite3_vfs_register(standard_, 1);
    }

private:
    static int open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out) {
        auto* const standard = static_cast<sqlite3_vfs*>(vfs->pAppData);
        return standard->xOpen(standard, name, file, flags, out);
    }
    static int open_promising_less(sqlite3_vfs* vfs, const char* name, sqlite3_file* file,
                                   int flags, int* out) {
        const int code = open(vfs, name, file, flags, out);
        if (code != SQLITE_OK || (flags & SQLITE_OPEN_MAIN_DB) == 0) return code;
        static sqlite3_io_methods methods;
        methods = *file->pMethods;
        methods.xDeviceCharacteristics = [](sqlite3_file*) { return 0; };
        file->pMethods = &methods;
        return code;
    }

    sqlite3_vfs* standard_;
    sqlite3_vfs own_;
};

TEST_P(SqliteFile, ThatCannotBeOpenedIsAFaultWhateverTheWayToIt) {
    const OwnWayToFiles own;
    const testing::TemporaryFolder folder;
    EXPECT_THROW((void)sqlite::open((folder.path() / "nowhere" / "locks.db").string()), StoreFault);
    LockManager locks{sqlite::open((folder.path() / "locks.db").string())};
    EXPECT_TRUE(locks.try_lock({"Order", "1"}));
}

// Without that promise for the database file, SQLite pads its commits to whole sectors.
TEST_P(SqliteFile, OthersReadEveryCommitWhateverThePagesAndThePromises) {
    using Promised = OwnWayToFiles::Promised;
    for (const char* pages : {"512", "4096", "65536"}) {
        for (const auto promised : {Promised::of_every_file, Promised::not_of_the_database}) {
            SCOPED_TRACE(pages);
            const OwnWayToFiles own{promised};
            const testing::TemporaryFolder folder;
            const std::string path = (folder.path() / "locks.db").string();
            sqlite3* db = nullptr;
            ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
            const std::string create = std::string{"pragma page_size = "} + pages +
                                       "; create table application (text text)";
            ASSERT_EQ(sqlite3_exec(db, create.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
            sqlite3_close(db);

            LockManager locks{sqlite::open(path)};
            LockManager others{sqlite::open(path)};
            for (const int many : {1, 2, 30, 1}) {
                std::vector<LockKey> keys;
                for (int i = 0; i < many; ++i) keys.emplace_back("Order", std::to_string(i));
                std::ranges::sort(keys);
                const LockOptions wanted{.owner = "alice", .note = std::string(200, 'n')};
                ASSERT_TRUE(locks.try_lock_all(keys, wanted));
                EXPECT_EQ(others.list().size(), keys.size());
                EXPECT_EQ(others.release_all("alice")->size(), keys.size());
            }
        }
    }
}

// SQLite would take such a path for a URI, whose parameters can switch off the locking of the file.
TEST_P(SqliteFile, IsNamedByAPathAndNotByAUri) {
    const testing::TemporaryFolder folder;
    const std::string path = (folder.path() / "locks.db").string();
    EXPECT_THROW((void)open_store("sqlite:file:" + path), BadRequest);
    for (const std::string& name : {"file:" + path + "?nolock=1", "sqlite:" + path, std::string{},
                                    std::string{":memory:"}, std::string{":x"}}) {
        EXPECT_THROW((void)sqlite::open(name), BadRequest) << name;
    }
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_P(SqliteFile, ThatIsNoDatabaseIsNamed) {
    const testing::TemporaryFolder folder;
    const std::string path = (folder.path() / "notes.txt").string();
    std::ofstream{path} << std::string(1000, 'x');
    try {
        (void)sqlite::open(path);
        ADD_FAILURE() << "opened";
    } catch (const StoreFault& fault) {
        EXPECT_EQ(fault.cause(), StoreFault::Cause::configuration);
        EXPECT_TRUE(std::string{fault.what()}.contains(path)) << fault.what();
    }
}

class KeysThatCannotBe : public SqliteFile {
protected:
    static constexpr int rows = 3;

    KeysThatCannotBe() {
        const auto session = connect();
        const std::string keys =
            "(select '' as type, '1' as id union all select 'Order', '1' || char(7) union all "
            "select 'Order', printf('%.*c', 5000, '1'))";
        session->run(
            "insert into locks (type, id, lockid, expiration_time, owner) "
            "select type, id, hex(randomblob(16)), 4000000000000000, 'alice' from " +
            keys);
        session->run(
            "insert into lock_shares (type, id, lockid, expiration_time, owner, fence, granted_at, "
            "note) select type, id, hex(randomblob(16)), 4000000000000000, 'alice', 1, 1, '' "
            "from " +
            keys);
        session->run(
            "insert into lock_history (seq, type, id, lockid, owner, mode, fence, granted_at, "
            "expiration_time, ended, ended_at, ended_by, ended_why, note) select "
            "4000000000000000 + row_number() over (), type, id, hex(randomblob(16)), 'alice', 0, "
            "1, 1, 1, 2, 4000000000000000, '', '', '' from " +
            keys);
    }

    LockManager locks{open_store(url())};
};
INSTANTIATE_TEST_SUITE_P(, KeysThatCannotBe, ::testing::ValuesIn(only_sqlite()), by_store());

TEST_P(KeysThatCannotBe, AreNotListed) {
    for (const char* id : {"0", "1", "2"}) {
        ASSERT_TRUE(locks.try_lock({"Order", id}, {.owner = "alice", .ttl = 1min}));
    }
    std::vector<std::string> ids;
    List query{.limit = 1};
    for (auto page = locks.list(query); !page.empty(); page = locks.list(query)) {
        ASSERT_EQ(page.size(), 1U);
        ids.emplace_back(page.front().key.id());
        query.after = page.front();
    }
    EXPECT_EQ(ids, (std::vector<std::string>{"0", "1", "2"}));
    EXPECT_EQ(locks.release_all("alice")->size(), 3U);
}

TEST_P(KeysThatCannotBe, AreNotInTheHistory) {
    const LockKey key{"Order", "1"};
    const auto lease = locks.try_lock(key, {.owner = "alice", .ttl = 1min});
    ASSERT_TRUE(locks.release(key, lease->lock_id));
    for (const auto& query : {History{}, History{.key = key}}) {
        const auto past = locks.history(query);
        ASSERT_EQ(past.size(), 1U);
        EXPECT_EQ(past.front().lease.fence, lease->fence);
    }
}

TEST_P(KeysThatCannotBe, AreLeftAloneByAPurgeThatGoesOn) {
    for (const char* id : {"0", "2"}) {
        const auto lease = locks.try_lock({"Order", id}, {.ttl = 1min});
        ASSERT_TRUE(locks.release({"Order", id}, lease->lock_id));
    }
    const auto session = connect();
    session->run(
        "update locks set ended_at = ended_at - 172800000000, touched_at = touched_at - "
        "172800000000, expiration_time = expiration_time - 172800000000 where ended > 0");
    const auto store = open_store(url());
    const Request request = Purge{.rows = 1};
    Purged purged;
    for (int slices = 0; !purged.complete && slices < 10; ++slices) {
        Outcome outcome;
        store->apply({&request, 1}, {&outcome, 1});
        purged = std::get<Purged>(outcome);
    }
    EXPECT_TRUE(purged.complete);
    EXPECT_EQ(session->run("select count(*) from locks").front().front(), std::to_string(rows));
}

}  // namespace
}  // namespace leasehold::faults
