// Takes and releases a lock through every way this program was built with.
#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#ifdef WITH_EVERYTHING
#include <leasehold/leasehold.hpp>
#else
#include <leasehold/lock_manager.hpp>
#include <leasehold/store.hpp>
#endif
#ifdef WITH_SQLITE
#include <leasehold/stores/sqlite.hpp>
#endif
#ifdef WITH_POSTGRES
#include <leasehold/stores/postgres.hpp>
#endif
#ifdef WITH_MARIADB
#include <leasehold/stores/mariadb.hpp>
#endif
#ifdef WITH_MYSQL
#include <leasehold/stores/mysql.hpp>
#endif
#ifdef WITH_ETCD
#include <leasehold/stores/etcd.hpp>
#endif
#ifdef WITH_HTTP
#include <leasehold/stores/http.hpp>
#endif
#ifdef WITH_WEB
#include <leasehold/stores/memory.hpp>
#include <leasehold/web/lock_routes.hpp>
#endif
#ifdef WITH_ASIO
#include <leasehold/asio.hpp>
#include <leasehold/stores/memory.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#endif

namespace {

[[maybe_unused]] void use(const char* name, std::unique_ptr<leasehold::Store> store) {
    leasehold::LockManager locks{std::move(store)};
    const auto lease = locks.try_lock({"Order", "1"}, {.owner = "consumer"});
    if (!lease) throw std::runtime_error{lease.error().message()};
    if (!locks.release({"Order", "1"}, lease->lock_id)) throw std::runtime_error{"not released"};
    std::printf("%s: locked and released\n", name);
}

// Thrown in the library, caught here.
[[maybe_unused]] void expect_exceptions(std::unique_ptr<leasehold::Store> (*open_missing)()) {
    int caught = 0;
    try {
        (void)leasehold::LockKey{"", "1"};
    } catch (const leasehold::BadRequest&) {
        ++caught;
    }
    try {
        (void)open_missing();
    } catch (const leasehold::StoreFault&) {
        ++caught;
    }
    if (caught != 2) throw std::runtime_error{"an exception was not caught"};
    std::printf("exceptions: caught\n");
}

// There is no server here. The fault that says so proves that the store and its driver were linked.
template <class Open>
[[maybe_unused]] void expect_no_server(const char* name, Open open) {
    try {
        (void)open();
    } catch (const leasehold::StoreFault&) {
        std::printf("%s: linked\n", name);
        return;
    }
    throw std::runtime_error{std::string{name} + " found a server"};
}

#ifdef WITH_WEB
void use_web() {
    leasehold::LockManager locks{leasehold::memory::open()};
    leasehold::web::LockRoutes routes{locks, [](const auto&...) { return true; }};
    const auto file = routes.answer("GET", "/client/leasehold-guard.js", {}, {}, {});
    const auto taken =
        routes.answer("POST", "/v1/locks/Order/1", {{"Content-Type", "application/json"}},
                      R"({"owner": "tab"})", leasehold::web::Visitor{"consumer", "session"});
    if (file.status != 200 || taken.status != 201) throw std::runtime_error{"not answered"};
    std::printf("web: answered\n");
}
#endif

#ifdef WITH_ASIO
void use_asio() {
    leasehold::LockManager locks{leasehold::memory::open()};
    boost::asio::io_context context;
    bool taken = false;
    boost::asio::co_spawn(
        context,
        [&]() -> boost::asio::awaitable<void> {
            const leasehold::LockOptions options{.owner = "consumer"};
            const auto lease = co_await leasehold::async_try_lock(locks, {"Order", "1"}, options,
                                                                  boost::asio::use_awaitable);
            taken = lease.has_value();
        },
        boost::asio::detached);
    context.run();
    if (!taken) throw std::runtime_error{"not locked"};
    std::printf("asio: locked\n");
}
#endif

}  // namespace

int main() {
    try {
        const std::string file = "consumer.db";
        std::remove(file.c_str());
#ifdef WITH_EVERYTHING
        use("memory", leasehold::open_store("memory:"));
        use("sqlite", leasehold::open_store("sqlite:" + file));
        expect_no_server(
            "postgres", [] { return leasehold::open_store("postgres://nobody@127.0.0.1:1/none"); });
        expect_no_server("mariadb",
                         [] { return leasehold::open_store("mariadb://nobody@127.0.0.1:1/none"); });
        expect_no_server("mysql",
                         [] { return leasehold::open_store("mysql://nobody@127.0.0.1:1/none"); });
        expect_no_server("etcd", [] { return leasehold::open_store("etcd://127.0.0.1:1/none"); });
        expect_no_server("http", [] { return leasehold::open_store("http://127.0.0.1:1"); });
#endif
#ifdef WITH_SQLITE
        use("sqlite", leasehold::sqlite::open(file));
        expect_exceptions(+[] { return leasehold::sqlite::open("missing/folder/consumer.db"); });
#endif
#ifdef WITH_POSTGRES
        expect_no_server("postgres", [] {
            return leasehold::postgres::open("host=127.0.0.1 port=1 user=nobody dbname=none");
        });
#endif
#ifdef WITH_MARIADB
        expect_no_server("mariadb", [] {
            return leasehold::mariadb::open({.port = 1, .user = "nobody", .database = "none"});
        });
#endif
#ifdef WITH_MYSQL
        expect_no_server("mysql", [] {
            return leasehold::mysql::open({.port = 1, .user = "nobody", .database = "none"});
        });
#endif
#ifdef WITH_WEB
        use_web();
#endif
#ifdef WITH_ASIO
        use_asio();
#endif
#ifdef WITH_HTTP
        expect_no_server("http", [] { return leasehold::http::open({.port = 1}); });
#endif
#ifdef WITH_ETCD
        expect_no_server("etcd",
                         [] { return leasehold::etcd::open({.endpoints = {{.port = 1}}}); });
#endif
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
