#include "running_store.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "servers.hpp"
#include "support/private_etcd.hpp"
#include "support/process.hpp"
#if defined(LEASEHOLD_WITH_POSTGRES)
#include "postgres_client.hpp"
#endif
#if defined(LEASEHOLD_WITH_HTTP)
#include "peer_server.hpp"
#endif

namespace leasehold::bench {
namespace {

#if defined(LEASEHOLD_WITH_POSTGRES)
void on_postgres(const std::function<void(const RunningStore&)>& run) {
    testing::PrivatePostgres server{postgres_options()};
    PostgresClient client{server.url()};
    client.prepare("sessions",
                   "select string_agg(pid::text, ' ') from pg_stat_activity "
                   "where application_name = 'leasehold'");
    run({.name = "postgres", .url = server.url() + "?durability=strict", .server_time = [&client] {
             std::istringstream sessions{client.find("sessions", {}).value_or("")};
             double sum = 0;
             for (pid_t process = 0; sessions >> process;) sum += processor_time_of(process);
             return sum;
         }});
}
#endif

}  // namespace

void on_stores(StoreNames names, const std::function<void(const RunningStore&)>& run) {
    const auto is_wanted = [&](std::string_view name) {
        return std::ranges::find(names, name) != names.end();
    };
    if (is_wanted("memory")) run({.name = "memory", .url = "memory:"});
#if defined(LEASEHOLD_WITH_SQLITE)
    if (is_wanted("sqlite")) {
        const testing::TemporaryFolder folder{"leasehold-compare"};
        run({.name = "sqlite",
             .url = "sqlite:" + (folder.path() / "locks.db").string() + "?durability=strict"});
    }
#endif
#if defined(LEASEHOLD_WITH_POSTGRES)
    if (is_wanted("postgres")) on_postgres(run);
#endif
#if defined(LEASEHOLD_WITH_MARIADB)
    if (is_wanted("mysql") && testing::PrivateMysql::is_there()) {
        testing::PrivateMysql server{mysql_options()};
        server.create_database("compare");
        run({.name = "mysql", .url = server.url("compare") + "?durability=strict"});
    }
    if (is_wanted("mariadb")) {
        testing::PrivateMariadb server{mariadb_options()};
        server.create_database("compare");
        run({.name = "mariadb", .url = server.url("compare") + "?durability=strict"});
    }
#endif
#if defined(LEASEHOLD_WITH_ETCD)
    if (is_wanted("etcd")) {
        const testing::PrivateEtcd server;
        run({.name = "etcd", .url = server.url()});
    }
#endif
#if defined(LEASEHOLD_WITH_HTTP)
    if (is_wanted("http")) {
        const PeerServer server = start_leasehold("memory:");
        run({.name = "http",
             .url = "http://127.0.0.1:" + std::to_string(server.port()),
             .server_time = [&server] { return server.processor_time().count(); }});
    }
#endif
}

double own_processor_time() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace leasehold::bench
