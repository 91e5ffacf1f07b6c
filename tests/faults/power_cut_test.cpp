// A power cut while a database works. Afterwards the database has what was on its disk, and not
// what was only in memory.
#include <sched.h>
#include <sys/mount.h>

#include <cstdlib>

#include "faults/databases.hpp"
#include "faults/under_load.hpp"

namespace leasehold::faults {
namespace {

bool succeeds(std::vector<std::string> command) {
    return testing::run({.arguments = std::move(command)}, 60s).exit_code == 0;
}

// Mounts of this process and its children disappear when they end, however they end.
bool keeps_mounts_to_itself() {
    return ::unshare(CLONE_NEWNS) == 0 &&
           ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

// A file system in a file, mounted while this lives. Not thread-safe.
class LoopDisk {
public:
    LoopDisk() {
        std::filesystem::create_directory(place_);
        mounted_ = keeps_mounts_to_itself() && succeeds({"truncate", "--size=640M", image_}) &&
                   succeeds({"mkfs.ext4", "-q", "-F", image_}) && mount();
    }
    LoopDisk(const LoopDisk&) = delete;
    LoopDisk& operator=(const LoopDisk&) = delete;
    ~LoopDisk() {
        if (mounted_) succeeds({"umount", "--lazy", place_});
    }

    // False if this machine does not permit mounts.
    [[nodiscard]] bool is_there() const { return mounted_; }
    [[nodiscard]] const std::string& place() const { return place_; }

    // Writes everything to the disk.
    void flush() const { ASSERT_TRUE(succeeds({"sync", "--file-system", place_})); }
    // Call this while nobody writes. What is on the disk now is all that remains after
    // lose_the_rest().
    void take_picture() const {
        ASSERT_TRUE(succeeds({"cp", "--sparse=always", image_, picture_}));
    }
    void lose_the_rest() {
        ASSERT_TRUE(succeeds({"umount", place_}));
        ASSERT_TRUE(succeeds({"mv", picture_, image_}));
        ASSERT_TRUE(mount());
    }

private:
    // The file system must not write its own journal before the picture is restored.
    [[nodiscard]] bool mount() const {
        return succeeds({"mount", "-o", "loop,commit=300", image_, place_}) &&
               succeeds({"chmod", "755", place_});
    }

    const testing::TemporaryFolder folder_;
    const std::string image_ = folder_.path() / "image", picture_ = folder_.path() / "picture";
    const std::string place_ = folder_.path() / "disk";
    bool mounted_ = false;
};

// While this object lives, new temporary folders are made here.
class Within {
public:
    explicit Within(const std::string& folder) { ::setenv("TMPDIR", folder.c_str(), 1); }
    Within(const Within&) = delete;
    Within& operator=(const Within&) = delete;
    ~Within() { ::setenv("TMPDIR", before_.c_str(), 1); }

private:
    const std::string before_ = std::filesystem::temp_directory_path();
};

class PowerCut : public ::testing::TestWithParam<On<Server>> {
protected:
    void SetUp() override {
        if (!disk_.is_there()) GTEST_SKIP() << "no file system can be mounted here";
        if (std::string_view{GetParam().store} == "mysql" && !testing::PrivateMysql::is_there()) {
            GTEST_SKIP() << "no MySQL, see tests/mysql";
        }
    }

    std::vector<std::string> violations(testing::PrivateServerOptions options) {
        const auto server = [&] {
            const Within here{disk_.place()};
            return GetParam().make(std::move(options));
        }();
        const std::string url = server->url(server->make());
        // The server's files were made without a flush.
        disk_.flush();
        return violations_under_load(url + "?io_timeout_ms=1000", url, [&](const auto&) {
            server->pause();
            disk_.take_picture();
            server->kill();
            disk_.lose_the_rest();
            server->start();
        });
    }

    LoopDisk disk_;
};
INSTANTIATE_TEST_SUITE_P(, PowerCut, ::testing::ValuesIn(every_server()), by_store());

TEST_P(PowerCut, LosesNothingThatWasAnswered) {
    const auto found = violations({});
    EXPECT_TRUE(found.empty()) << found.size() << " violations, the first:\n" << found.front();
}

// Proves that the test above would notice lost grants. These databases flush sometimes, but less
// often, and a busy system may have written everything by itself.
TEST_P(PowerCut, LosesGrantsOfADatabaseThatDoesNotFlush) {
    using Settings = std::vector<std::string>;
    const bool postgres = std::string_view{GetParam().store} == "postgres";
    const auto settings = postgres ? Settings{"synchronous_commit=off", "wal_writer_delay=10s"}
                                   : Settings{"--innodb-flush-log-at-trx-commit=0",
                                              "--innodb-flush-log-at-timeout=600"};
    bool lost = false;
    for (int attempt = 0; attempt < 4 && !lost; ++attempt) {
        lost = !violations({.settings = settings}).empty();
    }
    EXPECT_TRUE(lost);
}

}  // namespace
}  // namespace leasehold::faults
