// Clients that do the worst that a token with the role `use` allows, and a holder beside them.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <thread>

#include "connection.hpp"
#include "groups.hpp"
#include "http_answer.hpp"
#include "peer_server.hpp"
#if defined(LEASEHOLD_WITH_POSTGRES)
#include "servers.hpp"
#endif

namespace leasehold::bench {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::size_t attackers = 64;
constexpr std::size_t readers = 1000;
constexpr std::size_t hoarded = 20'000;    // leases, as many as a token may have
constexpr double never_answered = 60'000;  // milliseconds
constexpr double megabyte = 1024.0 * 1024.0;

constexpr const char* token_file = R"([[token]]
name = "attacker"
sha256 = "9e0246e496b4763ed6c23c14f5cd35a38cff482424f41525a602b10369af0b1a"
roles = ["use"]
owner = "attacker"
waiters = 200

[[token]]
name = "hoarder"
sha256 = "63cde4d0f9aeaf3f31de12fa49b1385aec68ddb3b4281c2f2aa812805ce128c1"
roles = ["use", "see"]
owner = "hoarder"

[[token]]
name = "victim"
sha256 = "d60283c219564595d510af85cee579a84745aed4d59db30df627d227d7487823"
roles = ["use"]
owner = "victim"
)";
constexpr std::string_view as_attacker = "Authorization: Bearer secret-of-attacker\r\n";
constexpr std::string_view as_hoarder = "Authorization: Bearer secret-of-hoarder\r\n";
constexpr std::string_view as_victim = "Authorization: Bearer secret-of-victim\r\n";

struct Answered {
    unsigned status = 0;
    std::string body;
};

Answered exchange(const Connection& connection, std::string_view method, std::string_view target,
                  std::string_view fields, std::string_view body = {}) {
    std::string out;
    print_http_request(out, method, target, fields, body);
    connection.send(out);
    std::string in;
    for (;;) {
        connection.receive(in);
        if (const auto answer = read_http_answer(in)) {
            return {answer->status, std::string{answer->body}};
        }
    }
}

std::string field_of(const std::string& json, const std::string& name) {
    const std::size_t at = json.find("\"" + name + "\":\"");
    if (at == std::string::npos) throw std::runtime_error{"no " + name + " in " + json};
    const std::size_t begin = at + name.size() + 4;
    return json.substr(begin, json.find('"', begin) - begin);
}

std::string batch_of(std::size_t size, const std::function<std::string(std::size_t)>& request) {
    std::string body = R"({"requests":[)";
    for (std::size_t i = 0; i < size; ++i) {
        if (i > 0) body += ',';
        body += request(i);
    }
    return body + "]}";
}

std::string owner_of(std::size_t number) {
    std::string owner = "attacker/" + std::to_string(number) + "-";
    owner.resize(512, 'o');
    return owner;
}

// A key that very many share, with the longest texts.
void share_a_key(const PeerServer& server) {
    constexpr std::size_t at_once = 200;
    const Connection connection{server.port()};
    for (std::size_t first = 0; first < readers; first += at_once) {
        const std::string body = batch_of(at_once, [&](std::size_t i) {
            return R"({"op":"try","type":"Shared","id":"1","mode":"shared","ttl_ms":3600000,"owner":")" +
                   owner_of(first + i) + R"(","note":")" + std::string(1024, 'n') + R"("})";
        });
        const Answered answer = exchange(connection, "POST", "/v1/batch", as_attacker, body);
        if (answer.status != 200) throw std::runtime_error{answer.body};
    }
}

std::string attackers_post(std::string_view target, const std::string& body) {
    std::string out;
    print_http_request(out, "POST", target, as_attacker, body);
    return out;
}

// More takes and releases under one owner than a store looks through for one release_all.
void make_an_owner_too_large(const PeerServer& server) {
    constexpr std::size_t rounds = 5;
    constexpr std::size_t keys = 512;
    const Connection connection{server.port()};
    for (std::size_t round = 0; round < rounds; ++round) {
        const std::string body = batch_of(2 * keys, [&](std::size_t i) {
            const std::string number = std::to_string(100'000 + round * keys + i / 2);
            std::string request =
                i % 2 == 0 ? R"({"op":"try","owner":"attacker/large",)" : R"({"op":"release",)";
            request.append(R"("type":"Ended","id":")").append(number);
            request.append(R"(","lock_id":"22222222-2222-8222-8222-000000)").append(number);
            return request.append(R"("})");
        });
        const Answered answer = exchange(connection, "POST", "/v1/batch", as_attacker, body);
        if (answer.status != 200) throw std::runtime_error{answer.body};
    }
}

std::string hoarded_id(std::size_t number) {
    return std::to_string(100'000 + number);
}
std::string hoarded_lock_id(std::size_t number) {
    return "33333333-3333-8333-8333-000000" + hoarded_id(number);
}

// As many leases as the token's quota allows, for two owners with half of it each.
void use_up_the_leases(const PeerServer& server) {
    constexpr std::size_t at_once = 1000;
    const Connection connection{server.port()};
    for (std::size_t first = 0; first < hoarded; first += at_once) {
        const std::string body = batch_of(at_once, [&](std::size_t i) {
            std::string request = R"({"op":"try","ttl_ms":3600000,"owner":"hoarder/)";
            request.append(first < hoarded / 2 ? "a" : "b");
            request.append(R"(","type":"Hoard","id":")").append(hoarded_id(first + i));
            request.append(R"(","lock_id":")").append(hoarded_lock_id(first + i));
            return request.append(R"("})");
        });
        const Answered answer = exchange(connection, "POST", "/v1/batch", as_hoarder, body);
        if (answer.status != 200) throw std::runtime_error{answer.body};
    }
}

// A key with long knocks on it, and the batch that renews its lease very often.
std::string renewals_with_knocks(const PeerServer& server) {
    constexpr std::size_t knocks = 10;
    const Connection connection{server.port()};
    const Answered taken = exchange(connection, "POST", "/v1/locks/Knocked/1", as_attacker,
                                    R"({"owner":"attacker/knocked","ttl_ms":3600000})");
    const std::string lock_id = field_of(taken.body, "lock_id");
    for (std::size_t i = 0; i < knocks; ++i) {
        (void)exchange(
            connection, "POST", "/v1/locks/Knocked/1/knock", as_attacker,
            R"({"owner":")" + owner_of(i) + R"(","message":")" + std::string(1024, 'm') + R"("})");
    }
    return attackers_post("/v1/batch", batch_of(1024, [&](std::size_t) {
                              return R"({"op":"renew","type":"Knocked","id":"1","ttl_ms":3600000,)"
                                     R"("lock_id":")" +
                                     lock_id + R"("})";
                          }));
}

// What the attackers send, each of them one after the other.
std::vector<std::string> weapons(const std::string& renewals) {
    const auto refused = [](std::size_t) {
        return std::string{R"({"op":"try","type":"Shared","id":"1","owner":"attacker/x"})"};
    };
    const auto all = [](std::size_t i) {
        return R"({"op":"try_all","owner":"attacker/y","keys":[{"type":"Shared","id":"1"},)"
               R"({"type":"Other","id":")" +
               std::to_string(i) + R"("}]})";
    };
    const auto drawn = [](std::size_t i) {
        constexpr std::size_t digits = 12;
        const std::string number = std::to_string(i);
        return R"({"op":"try","type":"Shared","id":"1","owner":"attacker/z","lock_id":)"
               R"("11111111-1111-8111-8111-)" +
               std::string(digits - number.size(), '0') + number + R"("})";
    };
    const auto taken_and_released = [](std::size_t i) {
        return std::string{R"({"owner":"attacker/t","type":"Taken","id":")"} +
               std::to_string(i / 2) +
               (i % 2 == 0 ? R"(","op":"try"})" : R"(","op":"release_all"})");
    };
    const auto too_large = [](std::size_t) {
        return std::string{R"({"op":"release_all","owner":"attacker/large"})"};
    };
    const auto post = attackers_post;
    return {
        post("/v1/batch", batch_of(1024, refused)),
        post("/v1/locks/Shared/1", R"({"owner":"attacker/w","wait_ms":500})"),
        post("/v1/batch", batch_of(512, all)),
        post("/v1/locks/Shared/1", R"({"owner":"attacker/v"})"),
        post("/v1/batch", batch_of(1024, drawn)),
        post("/v1/locks/Shared/1/knock", R"({"owner":"attacker/k","message":"give it to me"})"),
        post("/v1/batch", batch_of(1024, taken_and_released)),
        post("/v1/batch", batch_of(16, too_large)),
        renewals,
    };
}

// Asks for ever later releases of its leases, renews them, and tries for more than its quota.
void hoard(const PeerServer& server, std::size_t number, const std::atomic<bool>& over) {
    const Connection connection{server.port()};
    const std::string more = batch_of(256, [&](std::size_t i) {
        return R"({"op":"try","owner":"hoarder/c","type":"More","id":")" + std::to_string(i) +
               R"("})";
    });
    for (std::size_t at = number; !over; at = (at + 1) % hoarded) {
        const std::string target = "/v1/locks/Hoard/" + hoarded_id(at);
        const std::string mine =
            std::string{as_hoarder} + "Lock-Token: " + hoarded_lock_id(at) + "\r\n";
        (void)exchange(connection, "DELETE", target + "?after_ms=60000", mine);
        (void)exchange(connection, "PATCH", target, mine, R"({"ttl_ms":3600000})");
        if (at % 50 == 0) (void)exchange(connection, "POST", "/v1/batch", as_hoarder, more);
    }
}

// Keeps waiters on many connections.
void crowd_the_lines(const PeerServer& server, std::size_t number, const std::atomic<bool>& over) {
    constexpr std::size_t connections = 60;
    std::vector<Connection> all;
    for (std::size_t i = 0; i < connections && !over; ++i) {
        all.emplace_back(server.port());
        const std::string name = std::to_string(number) + "-" + std::to_string(i);
        all.back().send(attackers_post("/v1/locks/Shared/1",
                                       R"({"owner":"attacker/)" + name + R"(","wait_ms":60000})"));
    }
    for (int i = 0; i < 50 && !over; ++i) std::this_thread::sleep_for(100ms);
}

// Listens to everything that happens. Only some of the listeners read.
void listen(const PeerServer& server, bool reads, const std::atomic<bool>& over) {
    const Connection connection{server.port()};
    std::string request;
    print_http_request(request, "GET", "/v1/events", as_hoarder, {});
    connection.send(request);
    std::string in;
    while (!over) {
        if (!reads) std::this_thread::sleep_for(100ms);
        if (!reads) continue;
        connection.receive(in);
        in.clear();
    }
}

// Every fourth attacker does not read its answers, and connects again after a while. Another eighth
// of them send half a body and then nothing. A quarter of them hoard leases and delayed releases,
// keep waiters, or listen.
void attack(const PeerServer& server, std::size_t number, const std::vector<std::string>& all,
            const std::atomic<bool>& over) {
    const bool reads = number % 4 != 0;
    const bool sends_halves = number % 8 == 1;
    for (std::size_t at = number; !over;) {
        try {
            const Connection connection{server.port()};
            if (!reads) {
                for (int i = 0; i < 4; ++i) connection.send(all[0]);
                for (int i = 0; i < 20 && !over; ++i) std::this_thread::sleep_for(100ms);
                continue;
            }
            switch (number % 16) {
                case 3: crowd_the_lines(server, number, over); continue;
                case 5: hoard(server, number, over); continue;
                case 7: listen(server, true, over); continue;
                case 15: listen(server, false, over); continue;
                default: break;
            }
            if (sends_halves) {
                connection.send(std::string_view{all[0]}.substr(0, all[0].size() / 2));
                for (int i = 0; i < 20 && !over; ++i) std::this_thread::sleep_for(100ms);
                continue;
            }
            std::string in;
            while (!over) {
                connection.send(all[at++ % all.size()]);
                in.clear();
                while (!read_http_answer(in)) connection.receive(in);
            }
        } catch (const std::exception&) {
            std::this_thread::sleep_for(10ms);  // it was turned away
        }
    }
}

// The latencies of a request that is sent again and again, in milliseconds.
class Probe {
public:
    explicit Probe(std::function<void()> ask) : ask_{std::move(ask)} {}

    // `settle` is called after each request, and is not counted.
    [[nodiscard]] double p99(Seconds duration, const std::function<void()>& settle = {}) const {
        std::vector<double> took;
        for (const auto end = Clock::now() + duration; Clock::now() < end;) {
            const auto begun = Clock::now();
            ask_();
            took.push_back(std::chrono::duration<double, std::milli>{Clock::now() - begun}.count());
            if (settle) settle();
            std::this_thread::sleep_for(20ms);
        }
        std::ranges::sort(took);
        return took[std::min(took.size() - 1, took.size() * 99 / 100)];
    }

private:
    std::function<void()> ask_;
};

// A lease that its holder renews every so often.
class Victim {
public:
    Victim(const PeerServer& server, std::string id)
        : connection_{server.port()}, target_{"/v1/locks/Victim/" + id} {
        const Answered taken = exchange(connection_, "POST", target_, as_victim,
                                        R"({"owner":"victim","ttl_ms":10000})");
        if (taken.status != 201) throw std::runtime_error{taken.body};
        fields_ =
            std::string{as_victim} + "Lock-Token: " + field_of(taken.body, "lock_id") + "\r\n";
    }

    [[nodiscard]] bool renew() const {
        return exchange(connection_, "PATCH", target_, fields_, R"({"ttl_ms":10000})").status ==
               200;
    }

private:
    Connection connection_;
    std::string target_;
    std::string fields_;
};

// Takes a free key.
class Taker {
public:
    explicit Taker(const PeerServer& server) : connection_{server.port()} {}

    void take() {
        const Answered taken = exchange(connection_, "POST", target, as_victim,
                                        R"({"owner":"victim/taker","ttl_ms":10000})");
        if (taken.status != 201) throw std::runtime_error{taken.body};
        lock_id_ = field_of(taken.body, "lock_id");
    }
    void give_back() const {
        const std::string mine = std::string{as_victim} + "Lock-Token: " + lock_id_ + "\r\n";
        (void)exchange(connection_, "DELETE", target, mine);
    }

private:
    static constexpr std::string_view target = "/v1/locks/Victim/free";
    Connection connection_;
    std::string lock_id_;
};

struct Latencies {
    double renewal = 0;
    double tried = 0;
    double healthz = 0;
    std::size_t lost = 0;
};

Latencies measure(const PeerServer& server, Seconds duration) {
    Latencies found;
    std::atomic<std::size_t> lost{0};
    const Victim slow{server, "slow"};
    const Victim busy{server, "busy"};
    const Connection health{server.port()};
    Taker taker{server};
    {
        const std::jthread renews_seldom{[&](const std::stop_token& stop) {
            for (auto next = Clock::now(); !stop.stop_requested();) {
                if (Clock::now() >= next) {
                    next += std::chrono::seconds{3};
                    if (!slow.renew()) ++lost;
                }
                std::this_thread::sleep_for(20ms);
            }
        }};
        const std::jthread renews_often{[&] {
            found.renewal = Probe{[&] {
                                if (!busy.renew()) ++lost;
                            }}.p99(duration);
        }};
        const std::jthread tries{[&] {
            try {
                found.tried =
                    Probe{[&] { taker.take(); }}.p99(duration, [&] { taker.give_back(); });
            } catch (const std::exception& refused) {
                std::fprintf(stderr, "hostile: a try of the victim failed: %s\n", refused.what());
                found.tried = never_answered;
            }
        }};
        found.healthz = Probe{[&] { (void)exchange(health, "GET", "/healthz", {}); }}.p99(duration);
    }
    found.lost = lost;
    return found;
}

void run_on(const std::string& store, const std::string& url, const Settings& settings,
            Report& report) {
    const testing::TemporaryFolder folder;
    const auto tokens = folder.path() / "tokens.toml";
    std::ofstream{tokens} << token_file;
    const PeerServer server = start_leasehold(url, {"--tokens", tokens.string()});
    share_a_key(server);
    make_an_owner_too_large(server);
    use_up_the_leases(server);
    const std::vector<std::string> all = weapons(renewals_with_knocks(server));
    const Latencies quiet = measure(server, settings.attack / 4);
    const std::size_t resident_before = server.resident_bytes();

    std::atomic<bool> over{false};
    std::size_t peak = resident_before;
    Latencies under_attack;
    {
        std::vector<std::jthread> crowd;
        for (std::size_t i = 0; i < attackers; ++i) {
            crowd.emplace_back([&server, i, &all, &over] { attack(server, i, all, over); });
        }
        const std::jthread watch{[&](const std::stop_token& stop) {
            while (!stop.stop_requested()) {
                peak = std::max(peak, server.resident_bytes());
                std::this_thread::sleep_for(20ms);
            }
        }};
        try {
            under_attack = measure(server, settings.attack);
        } catch (...) {
            over = true;
            throw;
        }
        over = true;
    }
    std::fprintf(stderr, "hostile, %s: the attack is over, waiting for a minute\n", store.c_str());
    std::this_thread::sleep_for(std::chrono::minutes{1});
    const std::size_t later = server.resident_bytes();

    const auto add = [&](const std::string& name, const char* unit, double value,
                         std::optional<double> at_most) {
        std::optional<Goal> goal;
        if (at_most) goal = Goal{Goal::Direction::at_most, *at_most};
        report.add_measured({.group = "hostile",
                             .name = store + ", " + name,
                             .leasehold = "leasehold serve, " + store + ", 64 attackers",
                             .unit = unit,
                             .values = {value},
                             .goal = goal});
    };
    const auto bearable = [](double before) { return std::max(50.0, 10 * before); };
    add("p99 of a renewal, quiet", "ms", quiet.renewal, {});
    add("p99 of a renewal, under attack", "ms", under_attack.renewal, bearable(quiet.renewal));
    add("p99 of a try, quiet", "ms", quiet.tried, {});
    add("p99 of a try, under attack", "ms", under_attack.tried, bearable(quiet.tried));
    add("p99 of /healthz, quiet", "ms", quiet.healthz, {});
    add("p99 of /healthz, under attack", "ms", under_attack.healthz, bearable(quiet.healthz));
    add("leases lost", "leases", static_cast<double>(quiet.lost + under_attack.lost), 0);
    add("resident, quiet", "MiB", static_cast<double>(resident_before) / megabyte, {});
    add("resident at most", "MiB", static_cast<double>(peak) / megabyte, 256);
    add("resident a minute later", "MiB", static_cast<double>(later) / megabyte, {});
}

}  // namespace

void run_hostile(const Settings& settings, Report& report) {
#if defined(LEASEHOLD_WITH_SQLITE)
    run_on("sqlite", "sqlite:{}/leasehold.db?durability=strict", settings, report);
#endif
#if defined(LEASEHOLD_WITH_POSTGRES)
    const testing::PrivatePostgres database{postgres_options()};
    run_on("postgres", database.url() + "?durability=strict", settings, report);
#endif
}

}  // namespace leasehold::bench
