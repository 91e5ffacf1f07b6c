// Very many leases, which their holders renew again and again through one server.
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "connection.hpp"
#include "groups.hpp"
#include "http_answer.hpp"
#include "peer_server.hpp"
#include "processes.hpp"
#include "servers.hpp"

namespace leasehold::bench {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::size_t most_connections = 1000;
constexpr std::size_t in_a_batch = 100;
constexpr std::size_t few_leases = 1000;
constexpr auto between_batches = 10ms;  // 10,000 renewals a second
constexpr double wanted_per_second = 10'000;
constexpr double mebibyte = 1024.0 * 1024.0;
constexpr std::size_t lock_id_letters = 36;

// Holds leases by batches: batch number b has the leases from b * in_a_batch on, and belongs to the
// connection b % connections. One thread drives all connections, each with one request under way.
class Holders {
public:
    Holders(std::uint16_t port, std::size_t leases)
        : lock_ids_(leases * lock_id_letters, ' '),
          batches_{leases / in_a_batch},
          ready_{::epoll_create1(EPOLL_CLOEXEC)} {
        if (ready_ < 0) throw std::system_error{errno, std::generic_category(), "epoll"};
        const std::size_t connections = std::min(most_connections, batches_);
        holders_.reserve(connections);
        for (std::size_t i = 0; i < connections; ++i) {
            Holder& holder = holders_.emplace_back(Connection{port});
            epoll_event event{.events = EPOLLIN, .data = {.ptr = &holder}};
            ::epoll_ctl(ready_, EPOLL_CTL_ADD, holder.connection.socket(), &event);
        }
    }
    Holders(const Holders&) = delete;
    Holders& operator=(const Holders&) = delete;
    ~Holders() { ::close(ready_); }

    // Takes all leases, with a few holders at work at a time.
    void take_all() {
        constexpr std::size_t at_once = 16;
        std::size_t begun = 0;
        const auto begin_holder = [&] {
            if (begun < holders_.size()) take(begun++);
        };
        for (std::size_t i = 0; i < at_once; ++i) begin_holder();
        for (std::size_t taken = 0; taken < batches_;) {
            for (Holder* holder : answered(patience)) {
                keep_lock_ids(*holder);
                finish(*holder);
                if (++taken % 1000 == 0) {
                    std::fprintf(stderr, "  %zu leases taken\n", taken * in_a_batch);
                }
                const std::size_t next = holder->batch + holders_.size();
                if (next < batches_)
                    take(next);
                else
                    begin_holder();
            }
        }
    }

    struct Held {
        double renewals_per_second = 0;
        double p99_ms = 0;  // of a batch, from when it was due
    };
    // Renews one batch after the other, at the same pace whatever their number.
    Held hold(Seconds duration) {
        std::vector<double> took;
        const auto begin = Clock::now();
        const auto end = begin + std::chrono::duration_cast<Clock::duration>(duration);
        std::size_t due = 0;
        std::size_t under_way = 0;
        const auto due_at = [&](std::size_t batch) {
            return begin + static_cast<int>(batch) * between_batches;
        };
        const auto handle = [&](std::chrono::milliseconds wait) {
            for (Holder* holder : answered(wait)) {
                took.push_back(
                    std::chrono::duration<double, std::milli>{Clock::now() - holder->due_at}
                        .count());
                finish(*holder);
                --under_way;
            }
        };
        while (Clock::now() < end) {
            Holder& holder = holders_[due % batches_ % holders_.size()];
            const auto left =
                std::chrono::ceil<std::chrono::milliseconds>(due_at(due) - Clock::now());
            if (left > 0ms || holder.busy) {
                // A holder whose last batch is unanswered is late with this one.
                handle(std::clamp<std::chrono::milliseconds>(left, 1ms, between_batches));
                continue;
            }
            renew(due % batches_, due_at(due));
            ++due;
            ++under_way;
        }
        const double seconds = std::chrono::duration<double>{Clock::now() - begin}.count();
        const Held held{
            .renewals_per_second = static_cast<double>(took.size() * in_a_batch) / seconds,
            .p99_ms = p99(took)};
        while (under_way > 0) handle(patience);
        return held;
    }

private:
    static constexpr std::chrono::milliseconds patience = 60s;

    struct Holder {
        Connection connection;
        bool busy = false;
        std::size_t batch = 0;
        Clock::time_point due_at{};
        std::string in{};
        std::size_t size = 0;  // of the answer in `in`, if it is whole
    };

    static double p99(std::vector<double>& values) {
        if (values.empty()) return 0;
        std::ranges::sort(values);
        return values[values.size() * 99 / 100];
    }

    template <class Print>
    void send(std::size_t batch, Print print) {
        body_ = R"({"requests":[)";
        for (std::size_t i = 0; i < in_a_batch; ++i) {
            if (i > 0) body_ += ',';
            print(batch * in_a_batch + i);
        }
        body_ += "]}";
        out_.clear();
        print_http_request(out_, "POST", "/v1/batch", {}, body_);
        Holder& holder = holders_[batch % holders_.size()];
        holder.busy = true;
        holder.batch = batch;
        holder.connection.send(out_);
    }

    void take(std::size_t batch) {
        send(batch, [&](std::size_t lease) {
            body_ += R"({"op":"try","owner":"holder/)";
            body_ += std::to_string(lease / 1000);
            body_ += R"(","ttl_ms":3600000,"type":"Held","id":")";
            body_ += std::to_string(lease);
            body_ += R"("})";
        });
    }

    void renew(std::size_t batch, Clock::time_point due_at) {
        send(batch, [&](std::size_t lease) {
            body_ += R"({"op":"renew","ttl_ms":3600000,"type":"Held","id":")";
            body_ += std::to_string(lease);
            body_ += R"(","lock_id":")";
            body_ += std::string_view{lock_ids_}.substr(lease * lock_id_letters, lock_id_letters);
            body_ += R"("})";
        });
        holders_[batch % holders_.size()].due_at = due_at;
    }

    // The holders whose answers have arrived.
    std::vector<Holder*> answered(std::chrono::milliseconds wait) {
        std::array<epoll_event, 64> events;
        const int ready =
            ::epoll_wait(ready_, events.data(), events.size(), static_cast<int>(wait.count()));
        if (ready == 0 && wait == patience) throw std::runtime_error{"the server does not answer"};
        std::vector<Holder*> whole;
        for (int i = 0; i < ready; ++i) {
            auto& holder = *static_cast<Holder*>(events[static_cast<std::size_t>(i)].data.ptr);
            holder.connection.receive(holder.in);
            const auto answer = read_http_answer(holder.in);
            if (!answer) continue;
            const bool refused = answer->body.find("\"refused\"") != std::string_view::npos ||
                                 answer->body.find("urn:leasehold:") != std::string_view::npos;
            if (answer->status != 200 || refused) {
                throw std::runtime_error{"a batch was not answered as it should: " +
                                         std::string{answer->body.substr(0, 500)}};
            }
            holder.size = answer->size;
            whole.push_back(&holder);
        }
        return whole;
    }

    void keep_lock_ids(const Holder& holder) {
        constexpr std::string_view field = "\"lock_id\":\"";
        std::size_t at = 0;
        for (std::size_t i = 0; i < in_a_batch; ++i) {
            at = holder.in.find(field, at);
            if (at == std::string::npos) throw std::runtime_error{"a lease without a lock id"};
            at += field.size();
            lock_ids_.replace((holder.batch * in_a_batch + i) * lock_id_letters, lock_id_letters,
                              holder.in, at, lock_id_letters);
        }
    }

    static void finish(Holder& holder) {
        holder.in.erase(0, holder.size);
        holder.busy = false;
    }

    std::string lock_ids_;
    const std::size_t batches_;  // a multiple of the holders
    const int ready_;
    std::vector<Holder> holders_;
    std::string out_;
    std::string body_;
};

// A client beside the holders, which renews one lease again and again.
class Neighbour {
public:
    explicit Neighbour(std::uint16_t port) : connection_{port} {
        const std::string taken = ask("POST", {}, R"({"owner":"neighbour","ttl_ms":3600000})");
        constexpr std::string_view field = "\"lock_id\":\"";
        const std::size_t at = taken.find(field);
        if (at == std::string::npos) throw std::runtime_error{taken};
        token_ = "Lock-Token: " + taken.substr(at + field.size(), lock_id_letters) + "\r\n";
    }

    struct Latencies {
        double p50_ms = 0;
        double p99_ms = 0;
    };
    [[nodiscard]] Latencies renew_until(const std::function<bool()>& over) {
        std::vector<double> took;
        while (!over() || took.empty()) {
            const auto begun = Clock::now();
            (void)ask("PATCH", token_, R"({"ttl_ms":3600000})");
            took.push_back(std::chrono::duration<double, std::milli>{Clock::now() - begun}.count());
            std::this_thread::sleep_for(20ms);
        }
        std::ranges::sort(took);
        return {took[took.size() / 2], took[took.size() * 99 / 100]};
    }

private:
    std::string ask(std::string_view method, std::string_view fields, std::string_view body) {
        std::string out;
        print_http_request(out, method, "/v1/locks/Neighbour/1", fields, body);
        connection_.send(out);
        std::string in;
        for (;;) {
            connection_.receive(in);
            const auto answer = read_http_answer(in);
            if (!answer) continue;
            if (answer->status >= 300) throw std::runtime_error{in};
            return std::string{answer->body};
        }
    }

    Connection connection_;
    std::string token_;
};

// The database that the server keeps its leases in.
struct Database {
    std::string store;
    std::string url;
    std::optional<pid_t> process{};  // none: the store is in the server
    std::filesystem::path folder{};  // empty: the server's own
};

struct Measured {
    double server_us = 0;  // of processor time for a renewal
    double database_us = 0;
    Holders::Held held{};
    Neighbour::Latencies beside{};
    double resident_before = 0;  // of the server, in MiB
    double resident_after = 0;
    double files_before = 0;  // in MiB
    double files_after = 0;
};

Measured measure(const Database& database, std::size_t leases, Seconds duration) {
    const PeerServer server = start_leasehold(
        database.url, {"--token-leases", std::to_string(2 * leases), "--owner-share", "100",
                       "--connections", std::to_string(2 * most_connections)});
    const auto files = [&] {
        return static_cast<double>(
                   bytes_below(database.folder.empty() ? server.folder() : database.folder)) /
               mebibyte;
    };
    const auto resident = [&] { return static_cast<double>(server.resident_bytes()) / mebibyte; };
    const auto database_time = [&] {
        return database.process ? processor_time_of_family(*database.process) : 0.0;
    };
    Holders holders{server.port(), leases};
    holders.take_all();
    (void)holders.hold(std::min<Seconds>(duration / 10, 10s));

    Measured found{.resident_before = resident(), .files_before = files()};
    const double server_before = server.processor_time().count();
    const double database_before = database_time();
    const auto begun = Clock::now();
    std::atomic<bool> over{false};
    {
        const std::jthread beside{[&] {
            found.beside = Neighbour{server.port()}.renew_until([&] { return over.load(); });
        }};
        try {
            found.held = holders.hold(duration);
        } catch (...) {
            over = true;
            throw;
        }
        over = true;
    }
    const double seconds = std::chrono::duration<double>{Clock::now() - begun}.count();
    const double renewals = found.held.renewals_per_second * seconds;
    found.server_us = (server.processor_time().count() - server_before) / renewals * 1e6;
    found.database_us = (database_time() - database_before) / renewals * 1e6;
    found.resident_after = resident();
    found.files_after = files();
    return found;
}

void run_on(const std::string& store, const std::function<Measured(std::size_t, Seconds)>& run,
            const Settings& settings, Report& report) {
    const std::size_t leases = settings.many_leases / in_a_batch * in_a_batch;
    std::fprintf(stderr, "million, %s: %zu leases\n", store.c_str(), few_leases);
    const Measured few = run(few_leases, settings.hold / 10);
    std::fprintf(stderr, "million, %s: %zu leases\n", store.c_str(), leases);
    const Measured many = run(leases, settings.hold);
    const auto add = [&](const std::string& name, const char* unit, double value,
                         std::optional<Goal> goal = {}) {
        report.add_measured({.group = "million",
                             .name = store + ", " + name,
                             .leasehold = "leasehold serve, " + store + ", " +
                                          std::to_string(leases) + " leases held",
                             .unit = unit,
                             .values = {value},
                             .goal = goal});
    };
    add("renewals a second", "a second", many.held.renewals_per_second,
        Goal{Goal::Direction::at_least, 0.99 * wanted_per_second});
    add("processor time of the server for a renewal", "us", many.server_us);
    add("processor time of the database for a renewal", "us", many.database_us);
    add("processor time of both, against 1,000 leases", "times as dear",
        (many.server_us + many.database_us) / (few.server_us + few.database_us),
        Goal{Goal::Direction::at_most, 1.3});
    add("p99 of a batch of 100 renewals, from when it was due", "ms", many.held.p99_ms);
    add("p50 of a client beside them", "ms", many.beside.p50_ms);
    add("p99 of a client beside them", "ms", many.beside.p99_ms);
    add("p99 of a client beside 1,000 leases", "ms", few.beside.p99_ms);
    add("resident memory of the server, at the start", "MiB", many.resident_before);
    add("resident memory of the server, at the end", "MiB", many.resident_after);
    add("files, at the start", "MiB", many.files_before);
    add("files, at the end", "MiB", many.files_after);
}

// Each number of leases gets a database of its own.
template <class Server>
Measured measure_on(const std::string& store, Server& server, std::size_t leases,
                    Seconds duration) {
    const std::string name = "held" + std::to_string(leases);
    server.create_database(name);
    return measure({.store = store,
                    .url = server.url(name) + "?durability=strict",
                    .process = server.pid(),
                    .folder = server.folder()},
                   leases, duration);
}

}  // namespace

void run_million(const Settings& settings, Report& report) {
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
    const auto in_the_server = [&](const std::string& store, const std::string& url) {
        run_on(
            store,
            [&](std::size_t leases, Seconds duration) {
                return measure({.store = store, .url = url}, leases, duration);
            },
            settings, report);
    };
    const auto on = [&](const std::string& store, auto& server) {
        run_on(
            store,
            [&](std::size_t leases, Seconds duration) {
                return measure_on(store, server, leases, duration);
            },
            settings, report);
    };
    in_the_server("memory", "memory:");
#if defined(LEASEHOLD_WITH_SQLITE)
    in_the_server("sqlite", "sqlite:{}/leasehold.db?durability=strict");
#endif
#if defined(LEASEHOLD_WITH_POSTGRES)
    {
        testing::PrivatePostgres server{postgres_options()};
        on("postgres", server);
    }
#endif
#if defined(LEASEHOLD_WITH_MARIADB)
    if (testing::PrivateMysql::is_there()) {
        testing::PrivateMysql server{mysql_options()};
        on("mysql", server);
    }
    testing::PrivateMariadb server{mariadb_options()};
    on("mariadb", server);
#endif
}

}  // namespace leasehold::bench
