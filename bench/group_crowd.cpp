// Many connections on one server that do nothing, or wait for a key, while one client works.
#include <sys/resource.h>

#include <algorithm>
#include <stdexcept>
#include <thread>

#include "connection.hpp"
#include "groups.hpp"
#include "http_answer.hpp"
#include "load.hpp"

namespace leasehold::bench {
namespace {

// Longer than a row takes, and as long as the server lets anybody wait.
constexpr const char* waiting = R"({"wait_ms":60000})";

std::string ask(const Connection& connection, std::string_view method, const std::string& target,
                std::string_view body = {}) {
    std::string out;
    print_http_request(out, method, target, {}, body);
    connection.send(out);
    std::string in;
    for (;;) {
        connection.receive(in);
        const auto answer = read_http_answer(in);
        if (!answer) continue;
        if (answer->status >= 300) throw std::runtime_error{in};
        return std::string{answer->body};
    }
}

std::size_t waiters_of(const PeerServer& server) {
    constexpr std::string_view gauge = "\nleasehold_waiters ";
    const std::string metrics = ask(Connection{server.port()}, "GET", "/metrics");
    const std::size_t at = metrics.find(gauge);
    if (at == std::string::npos) throw std::runtime_error{"the server does not count waiters"};
    return static_cast<std::size_t>(std::stod(metrics.substr(at + gauge.size())));
}

// Connections of a server, some of which wait for a key that somebody holds.
class Crowd {
public:
    explicit Crowd(const PeerServer& server) : server_{server}, holder_{server.port()} {}

    void add_idle(std::size_t number) {
        for (std::size_t i = 0; i < number; ++i) (void)ask(join(), "GET", "/healthz");
    }

    void add_waiters(std::size_t number, std::size_t keys) {
        for (std::size_t key = 0; key < keys; ++key) (void)ask(holder_, "POST", lock(key), "{}");
        for (std::size_t i = 0; i < number; ++i) {
            std::string out;
            print_http_request(out, "POST", lock(i % keys), {}, waiting);
            join().send(out);
        }
        waiters_ += number;
        while (waiters_of(server_) < waiters_) {
            std::this_thread::sleep_for(std::chrono::milliseconds{10});
        }
    }

    [[nodiscard]] std::size_t size() const { return members_.size(); }
    [[nodiscard]] bool still_waits() const { return waiters_of(server_) == waiters_; }

private:
    // An address has fewer outgoing ports than a crowd may need.
    Connection& join() {
        constexpr std::size_t from_one_address = 10'000;
        const auto address = static_cast<std::uint8_t>(1 + members_.size() / from_one_address);
        return members_.emplace_back(server_.port(), address);
    }
    static std::string lock(std::size_t key) { return "/v1/locks/Crowd/" + std::to_string(key); }

    const PeerServer& server_;
    const Connection holder_;
    std::vector<Connection> members_;
    std::size_t waiters_ = 0;
};

PeerServer start_server() {
    return start_leasehold("memory:",
                           {"--connections", "100000", "--waiters", "100000", "--idle", "10m"});
}

// Lets a crowd come to a server of its own, and one client work there and on an empty one.
template <class Fill>
void measure_crowd(const std::string& name, Fill fill, const Settings& settings, Report& report) {
    const PeerServer empty = start_server();
    const PeerServer crowded = start_server();
    const auto alone = make_load(empty, make_leasehold_dialect(), 1);
    const auto among = make_load(crowded, make_leasehold_dialect(), 1);
    (void)pace({"", *among}, Seconds{0.2});

    const std::size_t before = crowded.resident_bytes();
    Crowd crowd{crowded};
    fill(crowd);
    const double bytes =
        static_cast<double>(crowded.resident_bytes() - before) / static_cast<double>(crowd.size());
    report.add({.group = "crowd",
                .name = name + ", bytes a connection",
                .leasehold = "leasehold serve, memory",
                .peer = "",
                .leasehold_pace = {},
                .peer_pace = {},
                .unit = "bytes a connection",
                .value = {bytes, bytes, bytes},
                .goal = Goal{Goal::Direction::at_most, 32 * 1024},
                .busy = {}});
    report.add(compare({.group = "crowd",
                        .name = name + ", p99 of a client beside them",
                        .leasehold = {"leasehold serve, memory, 1 client in the crowd", *among},
                        .peer = {"leasehold serve, memory, 1 client alone", *alone},
                        .ratio = Ratio::p99,
                        .goal = Goal{Goal::Direction::at_most, 1.3}},
                       settings));
    if (!crowd.still_waits()) throw std::runtime_error{"the crowd has not waited to the end"};
}

// As many files as we may have; the servers that are started may have as many.
std::size_t raise_file_limit() {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur;
}

}  // namespace

void run_crowd(const Settings& settings, Report& report) {
    constexpr std::size_t for_ourselves = 200;
    const std::size_t files = raise_file_limit() - for_ourselves;
    const std::size_t number = std::min(settings.crowd, files);
    const std::string many = std::to_string(number);
    measure_crowd(many + " idle", [=](Crowd& crowd) { crowd.add_idle(number); }, settings, report);
    measure_crowd(
        many + " wait for a key each", [=](Crowd& crowd) { crowd.add_waiters(number, number); },
        settings, report);
    measure_crowd(
        many + " wait for one key", [=](Crowd& crowd) { crowd.add_waiters(number, 1); }, settings,
        report);

    const std::size_t each = std::min(settings.crowd, files / 2);
    measure_crowd(
        std::to_string(each) + " idle and as many waiting",
        [=](Crowd& crowd) {
            crowd.add_idle(each);
            crowd.add_waiters(each, each);
        },
        settings, report);
}

}  // namespace leasehold::bench
