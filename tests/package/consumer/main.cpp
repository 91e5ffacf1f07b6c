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
#ifdef WITH_ETCD
#include <leasehold/stores/etcd.hpp>
#endif

namespace {

void use(const char* name, std::unique_ptr<leasehold::Store> store) {
    leasehold::LockManager locks{std::move(store)};
    const auto lease = locks.try_lock({"Order", "1"}, {.owner = "consumer"});
    if (!lease) throw std::runtime_error{lease.error().message()};
    if (!locks.release({"Order", "1"}, lease->lock_id)) throw std::runtime_error{"not released"};
    std::printf("%s: locked and released\n", name);
}

// There is no server here: that it says so proves that the store and its driver were linked.
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
        expect_no_server("etcd", [] { return leasehold::open_store("etcd://127.0.0.1:1/none"); });
#endif
#ifdef WITH_SQLITE
        use("sqlite", leasehold::sqlite::open(file));
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
