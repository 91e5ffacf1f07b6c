#include <gtest/gtest.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <leasehold/lock_manager.hpp>
#include <leasehold/open_store.hpp>
#include <string>
#include <thread>

#include "server_url.hpp"
#include "unit/waiting.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

const LockKey stored_key{"Order", "1"};

class OpenStoreTest : public ::testing::Test {
protected:
    OpenStoreTest() {
        std::string name = (fs::temp_directory_path() / "leasehold-unit-XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr) throw std::runtime_error{"no temporary folder"};
        folder = name;
    }
    ~OpenStoreTest() override {
        std::error_code ignored;
        fs::remove_all(folder, ignored);
    }

    [[nodiscard]] std::string sqlite_url() const { return "sqlite:" + (folder / "a.db").string(); }

    fs::path folder;
};

std::string problem_of_opening(const std::string& url) {
    try {
        (void)open_store(url);
    } catch (const BadRequest& bad) {
        return bad.what();
    }
    return "";
}

// How a refusal explains the end of a lease after somebody else has taken the key.
Gone told_after_the_next_grant(const std::string& url) {
    LockManager locks{open_store(url)};
    const auto alice = locks.try_lock(stored_key, {.owner = "alice"});
    (void)locks.release(stored_key, alice.value().lock_id);
    (void)locks.try_lock(stored_key, {.owner = "bob"}).value();
    return locks.check(stored_key, alice->lock_id).error().reason;
}

TEST_F(OpenStoreTest, OpensAStoreInMemory) {
    LockManager locks{open_store("memory:")};
    EXPECT_EQ(locks.status().name, "memory");
    EXPECT_TRUE(locks.try_lock(stored_key));
}

TEST_F(OpenStoreTest, OpensAnSqliteFileAndMakesItsTables) {
    LockId alices;
    {
        LockManager locks{open_store(sqlite_url())};
        EXPECT_TRUE(locks.status().name.starts_with("sqlite ")) << locks.status().name;
        alices = locks.try_lock(stored_key, {.owner = "alice"}).value().lock_id;
    }
    LockManager again{open_store(sqlite_url())};
    EXPECT_TRUE(again.check(stored_key, alices));
    EXPECT_FALSE(again.try_lock(stored_key, {.owner = "bob"}));
}

TEST_F(OpenStoreTest, RefusesAnUnknownKindAndNamesTheKnownOnes) {
    const std::string text = problem_of_opening("oracle://host/db");
    EXPECT_TRUE(text.starts_with("no store for 'oracle:'; this build has memory:, sqlite:path"))
        << text;
    EXPECT_NE(problem_of_opening("SQLITE:a.db"), "");
}

TEST_F(OpenStoreTest, RefusesAUrlItCannotRead) {
    for (const char* bad : {"", "memory", "sqlite:", "memory:?history=maybe", "memory:?colour=red",
                            "sqlite:a.db?retention_s=soon", "sqlite:%"}) {
        EXPECT_NE(problem_of_opening(bad), "") << bad;
    }
}

// Everything that opening the store says.
std::string said_about(const std::string& url) {
    try {
        (void)open_store(url, {.io_timeout = 100ms});
    } catch (const std::exception& error) {
        return error.what();
    }
    return "";
}

TEST_F(OpenStoreTest, NoErrorOfADriverQuotesAPassword) {
    for (const char* bad :
         {"postgres://app:hunter2%@127.0.0.1:1/x", "postgres://app:hunter2@[::1/x",
          "postgres://127.0.0.1:1/x?password=a&hunter2=b",
          "postgres://127.0.0.1:1/x?password=a&hunter2", "postgres:/app:hunter2@127.0.0.1/x",
          "postgres//app:hunter2@127.0.0.1/x", "postgres://app:a@hunter2@127.0.0.1/x",
          "mariadb://app:1/hunter2@127.0.0.1/x", "http://app:hunter2@127.0.0.1:1/x",
          "sqlite://app:hunter2@db/x"}) {
        const std::string said = said_about(bad);
        EXPECT_NE(said, "") << bad;
        EXPECT_FALSE(said.contains("hunter2")) << said;
    }
    const std::string why = said_about("postgres://app:hunter2%@127.0.0.1:1/x");
    EXPECT_TRUE(why.contains("invalid percent-encoded token")) << why;
}

// The flags of the login that a client sends to a server that says it is MariaDB.
std::uint32_t flags_of_login(const std::string& parameters) {
    using namespace std::string_literals;
    const std::string greeting = "\x0a"s + "5.5.5-10.11.6-MariaDB\0"s + "\1\0\0\0"s +
                                 "abcdefgh\0"s + "\xff\xf7\x08\x02\0\xff\x81\x15"s +
                                 std::string(10, '\0') + "ijklmnopqrst\0"s +
                                 "mysql_native_password\0"s;
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const name = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener, name, size) != 0 || ::listen(listener, 1) != 0 ||
        ::getsockname(listener, name, &size) != 0) {
        throw std::runtime_error{"no listener"};
    }
    std::array<unsigned char, 8> login{};
    std::thread server{[&] {
        const int client = ::accept(listener, nullptr, nullptr);
        const std::string packet = std::string{static_cast<char>(greeting.size())} + "\0\0\0"s;
        (void)!::send(client, (packet + greeting).data(), greeting.size() + 4, MSG_NOSIGNAL);
        (void)!::recv(client, login.data(), login.size(), MSG_WAITALL);
        ::close(client);
    }};
    (void)said_about("mariadb://app:hunter2@127.0.0.1:" + std::to_string(ntohs(address.sin_port)) +
                     "/x" + parameters);
    server.join();
    ::close(listener);
    return static_cast<std::uint32_t>(login[4]) | static_cast<std::uint32_t>(login[5]) << 8;
}

TEST_F(OpenStoreTest, AMariadbServerCannotAskForFilesOfTheClient) {
    constexpr std::uint32_t speaks_protocol_41 = 0x200;
    constexpr std::uint32_t sends_local_files = 0x80;
    const std::uint32_t flags = flags_of_login("");
    EXPECT_NE(flags & speaks_protocol_41, 0U) << flags;
    EXPECT_EQ(flags & sends_local_files, 0U) << flags;
}

TEST_F(OpenStoreTest, NoPasswordIsSentToAMariadbServerWithoutTls) {
    // This server does not offer TLS: the client must leave without a login.
    EXPECT_EQ(flags_of_login("?tls=verify-full"), 0U);
}

TEST_F(OpenStoreTest, AServersPathIsSentEncoded) {
    EXPECT_TRUE(said_about("http://127.0.0.1:1/a%0D%0AX:%20y").contains("control character"));
    EXPECT_EQ(server_at(StoreUrl::parse("http://h/a%20b%3F/c/", {})).prefix, "/a%20b%3F/c");
    EXPECT_EQ(server_at(StoreUrl::parse("http://h/", {})).prefix, "");
}

TEST_F(OpenStoreTest, AFileThatCannotBeOpenedIsAFaultThatNamesIt) {
    const std::string path = (folder / "missing" / "a.db").string();
    try {
        (void)open_store("sqlite:" + path);
        FAIL() << "it was opened";
    } catch (const StoreFault& fault) {
        EXPECT_EQ(fault.effect(), StoreFault::Effect::none);
        EXPECT_EQ(fault.cause(), StoreFault::Cause::configuration);
        EXPECT_NE(std::string{fault.what()}.find(path), std::string::npos) << fault.what();
    }
}

TEST_F(OpenStoreTest, StrictDurabilityTakesSqliteAndRefusesMemory) {
    const auto strict = open_store(sqlite_url() + "?durability=strict");
    EXPECT_EQ(strict->status().durability, Durability::strong);
    try {
        (void)open_store("memory:?durability=strict");
        FAIL() << "it was opened";
    } catch (const StoreFault& fault) {
        EXPECT_EQ(fault.cause(), StoreFault::Cause::configuration);
        EXPECT_EQ(fault.effect(), StoreFault::Effect::none);
    }
}

TEST_F(OpenStoreTest, WithoutHistoryAnEndingIsKnownOnlyUntilTheNextGrant) {
    EXPECT_EQ(told_after_the_next_grant("memory:"), Gone::released);
    EXPECT_EQ(told_after_the_next_grant("memory:?history=off"), Gone::unknown);
    EXPECT_EQ(told_after_the_next_grant(sqlite_url()), Gone::released);
    EXPECT_EQ(told_after_the_next_grant("sqlite:" + (folder / "b.db").string() + "?history=off"),
              Gone::unknown);
}

TEST_F(OpenStoreTest, TheRetentionSaysHowLongEndedLeasesAreRemembered) {
    for (const std::string& url : {std::string{"memory:"}, sqlite_url()}) {
        LockManager locks{open_store(url + "?retention_s=1")};
        const auto lease = locks.try_lock(stored_key, {.owner = "alice"});
        ASSERT_TRUE(locks.release(stored_key, lease.value().lock_id));
        EXPECT_EQ(locks.history({.key = stored_key}).size(), 1U) << url;
        EXPECT_TRUE(eventually([&] {
            locks.purge();
            return locks.history({.key = stored_key}).empty();
        })) << url;
    }
}

TEST_F(OpenStoreTest, TheUrlOverridesTheOptions) {
    const StoreOptions strict{.require = StoreOptions::Require::strict_durability};
    EXPECT_NO_THROW((void)open_store("memory:?durability=any", strict));
}

}  // namespace
}  // namespace leasehold::testing
