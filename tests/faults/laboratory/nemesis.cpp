#include "faults/laboratory/nemesis.hpp"

#include <sys/resource.h>

#include <csignal>
#include <functional>
#include <memory>
#include <thread>

#include "lab/client.hpp"

namespace leasehold::faults {
namespace {

// Longer than any lease of the load lives without a renewal.
constexpr auto longer_than_a_lease = 2200ms;
constexpr auto short_while = 600ms;

std::vector<Fault> faults_of_server(Stage& stage, std::size_t which) {
    const auto serving = [&stage, which] -> command::Serving& { return stage.serving(which); };
    const auto start = [&stage, which] { stage.start_server(which); };
    return {
        {"server killed", [=] { serving().kill(); }, 200ms, start},
        {"server paused", [=] { serving().signal(SIGSTOP); }, longer_than_a_lease,
         [=] { serving().signal(SIGCONT); }},
        {"server replaced in order", [=] { serving().stop(); }, 100ms, start},
        {"server without file descriptors",
         [=, &stage] {
             // Only descriptors that are open already. The log and other files use 3 or 4 of them.
             const rlimit few{.rlim_cur = 3, .rlim_max = 1024};
             ::prlimit(serving().pid(), RLIMIT_NOFILE, &few, nullptr);
             stage.before_server(which).cut();
         },
         1s,
         [=] {
             const rlimit enough{.rlim_cur = 1024, .rlim_max = 1024};
             ::prlimit(serving().pid(), RLIMIT_NOFILE, &enough, nullptr);
         }},
    };
}

std::vector<Fault> faults_of_application(Stage& stage) {
    return {
        {"application killed", [&stage] { stage.application().kill_hard(); }, 100ms,
         [&stage] { stage.start_application(); }},
        {"holder paused", [&stage] { stage.application().pause(); }, longer_than_a_lease,
         [&stage] { stage.application().resume(); }},
    };
}

// Faults of all these gates at once.
std::vector<Fault> faults_of_network(const std::string& between,
                                     const std::vector<testing::TcpGate*>& gates) {
    const auto each = [gates](auto... changes) {
        return [=] {
            for (testing::TcpGate* gate : gates) (std::invoke(changes, *gate), ...);
        };
    };
    using Gate = testing::TcpGate;
    const auto storm = [](Gate& gate) {
        gate.set_conditions({.delay_from = 5ms, .delay_to = 60ms, .loss = 0.05});
    };
    const auto calm = [](Gate& gate) { gate.set_conditions({}); };
    const auto cut_before_answer = [](Gate& gate) { gate.cut_before_answer(); };
    return {
        {between + " cut", each(&Gate::cut, &Gate::refuse), short_while, each(&Gate::accept)},
        {between + " cut before an answer", each(cut_before_answer), short_while,
         each(&Gate::pass_everything)},
        {between + " silent one way", each(&Gate::hold_answers), longer_than_a_lease,
         each(&Gate::pass_everything)},
        {between + " deaf one way", each(&Gate::hold_requests), longer_than_a_lease,
         each(&Gate::pass_everything)},
        {between + " half open", each(&Gate::hold), longer_than_a_lease,
         each(&Gate::pass_everything, &Gate::cut)},
        {between + " slow and lossy", each(storm), longer_than_a_lease, each(calm)},
    };
}

// Transactions of another program on the rows of keys that the load uses.
std::vector<Fault> faults_of_neighbours(Stage& stage) {
    const auto keys = lab::some_keys(keys_of_load);
    auto session = std::make_shared<std::unique_ptr<Session>>();
    Fault locked{.name = "rows locked by a transaction",
                 .begin =
                     [=, &stage] {
                         *session = stage.connect();
                         if (stage.ground().server() == nullptr) {
                             (*session)->run("begin immediate");
                             return;
                         }
                         (*session)->begin_and_lock(keys[0]);
                         (*session)->begin_and_lock(keys[1]);
                     },
                 .lasts = longer_than_a_lease,
                 .end =
                     [=] {
                         (*session)->run("rollback");
                         session->reset();
                     },
                 .is_transaction = true};
    if (stage.ground().server() == nullptr) return {locked};

    auto crossing = std::make_shared<std::vector<std::jthread>>();
    const auto cross = [&stage](const std::stop_token& stop, const LockKey& first,
                                const LockKey& second) {
        const auto mine = stage.connect();
        while (!stop.stop_requested()) {
            try {
                mine->begin_and_lock(first);
                mine->begin_and_lock(second);
                mine->run("rollback");
            } catch (const std::runtime_error&) {
                mine->run("rollback");  // the victim of a deadlock
            }
        }
    };
    Fault deadlocks{.name = "transactions that deadlock",
                    .begin =
                        [=] {
                            for (std::size_t i = 0; i < 3; ++i) {
                                crossing->emplace_back(cross, keys[i], keys[(i + 1) % 3]);
                            }
                        },
                    .lasts = 1500ms,
                    .end = [=] { crossing->clear(); },
                    .is_transaction = true};
    return {locked, deadlocks};
}

std::vector<Fault> faults_of_database(Stage& stage) {
    Ground& ground = stage.ground();
    Server* const server = ground.server();
    const auto restart = [server] {
        server->kill();
        server->start();
    };
    // A database may stop for good when its disk fails.
    const auto mend = [=, &ground] {
        ground.disk().set(Trouble::none);
        if (server != nullptr) restart();
    };
    std::vector<Fault> all{
        {"flush fails", [&ground] { ground.disk().set(Trouble::no_flush); }, short_while, mend},
        {"disk full", [&ground] { ground.disk().set(Trouble::full); }, short_while, mend},
    };
    if (server == nullptr) return all;
    all.push_back({"store killed", [=] { server->kill(); }, 200ms, [=] { server->start(); }});
    all.push_back(
        {"store paused", [=] { server->pause(); }, longer_than_a_lease, [=] { server->resume(); }});
    return all;
}

std::vector<Fault> faults_of_cluster(testing::PrivateEtcd& cluster) {
    constexpr auto longer_than_an_election = 3500ms;
    constexpr std::size_t members = 3;
    auto whom = std::make_shared<std::size_t>();
    const auto leader = [=, &cluster] { return *whom = cluster.leader(); };
    const auto follower = [=, &cluster] { return *whom = (cluster.leader() + 1) % members; };
    const auto start = [=, &cluster] { cluster.start(*whom); };
    const auto resume = [=, &cluster] { cluster.resume(*whom); };
    return {
        {"leader killed", [=, &cluster] { cluster.kill(leader()); }, 1s, start},
        {"leader paused", [=, &cluster] { cluster.pause(leader()); }, longer_than_an_election,
         resume},
        {"leader cut off", [=, &cluster] { cluster.cut_off(leader()); }, longer_than_an_election,
         [&cluster] { cluster.join_again(); }},
        {"all members killed", [&cluster] { cluster.kill_all(); }, 200ms,
         [&cluster] { cluster.start_all(); }},
        {"follower killed", [=, &cluster] { cluster.kill(follower()); }, 1s, start},
        {"follower paused", [=, &cluster] { cluster.pause(follower()); }, longer_than_an_election,
         resume},
    };
}

std::vector<Fault> faults_of_clocks(Ground& ground) {
    const auto step = [&ground](const std::string& whose, WallClock& clock) {
        return std::vector<Fault>{
            {whose + " clock an hour back", [&clock] { clock.set(-1h); }, short_while,
             [&clock] { clock.set(0h); }},
            {whose + " clock an hour ahead", [&clock] { clock.set(1h); }, short_while,
             [&clock] { clock.set(0h); }},
        };
    };
    std::vector<Fault> all = step("store's", ground.clock());
    if (ground.server() != nullptr) {
        for (Fault& fault : step("servers'", ground.clock_of_users())) all.push_back(fault);
    }
    return all;
}

}  // namespace

std::vector<Fault> faults_of(Stage& stage, std::size_t which) {
    if (stage.ground().wired() == Wired::clocks) return faults_of_clocks(stage.ground());
    std::vector<Fault> all;
    const auto add = [&](std::vector<Fault> some) {
        for (Fault& fault : some) all.push_back(std::move(fault));
    };
    add(faults_of_server(stage, which));
    add(faults_of_application(stage));
    add(faults_of_network("client and server", {&stage.before_server(which)}));
    if (const auto gates = stage.before_store(); !gates.empty()) {
        add(faults_of_network("server and store", gates));
    }
    if (testing::PrivateEtcd* const cluster = stage.ground().cluster()) {
        add(faults_of_cluster(*cluster));
    } else {
        add(faults_of_neighbours(stage));
        add(faults_of_database(stage));
    }
    return all;
}

}  // namespace leasehold::faults
