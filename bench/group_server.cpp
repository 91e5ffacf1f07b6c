// `leasehold serve` beside other servers that locks are kept in.
#include "groups.hpp"
#include "load.hpp"
#if defined(LEASEHOLD_WITH_POSTGRES)
#include "servers.hpp"
#endif

namespace leasehold::bench {
namespace {

constexpr std::size_t many = 64;

std::string clients(std::size_t number) {
    return std::to_string(number) + (number == 1 ? " client" : " clients");
}

Goal at_least(double value) {
    return {Goal::Direction::at_least, value};
}

struct Peer {
    std::string name;
    const PeerServer& server;
    std::unique_ptr<Dialect> dialect;
};

void compare_servers(const std::string& store, const PeerServer& leasehold, Peer peer,
                     std::size_t number, std::optional<Goal> goal, const Settings& settings,
                     Report& report) {
    const auto ours = make_load(leasehold, make_leasehold_dialect(), number);
    const auto theirs = make_load(peer.server, std::move(peer.dialect), number);
    report.add(compare({.group = "server-" + store,
                        .name = clients(number) + " against " + peer.name,
                        .leasehold = {"leasehold serve, " + store + ", " + clients(number), *ours},
                        .peer = {peer.name + ", " + clients(number), *theirs},
                        .goal = goal},
                       settings));
}

}  // namespace

void run_server_memory(const Settings& settings, Report& report) {
    const PeerServer leasehold = start_leasehold("memory:");
    const PeerServer redis = start_redis(Persistence::none);
    const auto peer = [&] {
        return Peer{"Redis in memory", redis, make_redis_dialect(redis.port())};
    };
    compare_servers("memory", leasehold, peer(), many, at_least(0.8), settings, report);
    compare_servers("memory", leasehold, peer(), 1, std::nullopt, settings, report);
}

#if defined(LEASEHOLD_WITH_SQLITE)
void run_server_sqlite(const Settings& settings, Report& report) {
    const PeerServer leasehold = start_leasehold("sqlite:{}/leasehold.db?durability=strict");
    {
        const PeerServer redis = start_redis(Persistence::every_write);
        const auto peer = [&] {
            return Peer{"Redis, appendfsync always", redis, make_redis_dialect(redis.port())};
        };
        compare_servers("sqlite", leasehold, peer(), many, at_least(1), settings, report);
        compare_servers("sqlite", leasehold, peer(), 1, at_least(0.8), settings, report);
    }
    const PeerServer etcd = start_etcd();
    compare_servers("sqlite", leasehold, {"etcd", etcd, make_etcd_dialect()}, many, at_least(5),
                    settings, report);
}
#endif

#if defined(LEASEHOLD_WITH_POSTGRES)
void run_server_postgres(const Settings& settings, Report& report) {
    constexpr std::size_t threads = 32;
    testing::PrivatePostgres database{postgres_options()};
    database.create_database("pattern");
    const PeerServer server = start_leasehold(database.url() + "?durability=strict");
    const auto leasehold = make_load(server, make_leasehold_dialect(), many);
    const auto pattern = make_pattern_postgres(database.url("pattern"), threads);
    report.add(compare({.group = "server-postgres",
                        .name = "64 clients against the pattern's own way with 32",
                        .leasehold = {"leasehold serve, postgres, 64 clients", *leasehold},
                        .peer = {"a transaction an operation, 32 threads", *pattern, threads},
                        .goal = at_least(5)},
                       settings));
}
#endif

}  // namespace leasehold::bench
