#include "support/private_etcd.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "support/tcp_gate.hpp"

namespace leasehold::testing {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto election_timeout = 180s;
constexpr int starts = 5;

class EtcdEnded : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

std::string content_of(const fs::path& path) {
    std::ifstream file{path};
    return {std::istreambuf_iterator<char>{file}, {}};
}

// The text between two others, or nothing.
std::string between(const std::string& text, const std::string& from, char to) {
    const std::size_t at = text.find(from);
    if (at == std::string::npos) return {};
    const std::size_t begin = at + from.size();
    return text.substr(begin, text.find(to, begin) - begin);
}

}  // namespace

struct PrivateEtcd::Member {
    std::string name;
    std::uint16_t port = 0;
    std::uint16_t peer_port = 0;
    std::uint16_t health_port = 0;    // without TLS
    std::unique_ptr<TcpGate> gate{};  // before its peer port, where there are gates
    std::optional<ChildProcess> process{};
};

std::string ask_http(std::uint16_t port, const std::string& path, const std::string& body) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket < 0) throw std::runtime_error{"no socket"};
    const timeval patience{.tv_sec = 20, .tv_usec = 0};
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    std::string answer;
    if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
        const std::string request = (body.empty() ? "GET " : "POST ") + path +
                                    " HTTP/1.0\r\nContent-Length: " + std::to_string(body.size()) +
                                    "\r\n\r\n" + body;
        (void)!::write(socket, request.data(), request.size());
        char some[4096];
        for (ssize_t got = 0; (got = ::read(socket, some, sizeof some)) > 0;) {
            answer.append(some, static_cast<std::size_t>(got));
        }
    }
    ::close(socket);
    const std::size_t end = answer.find("\r\n\r\n");
    if (end == std::string::npos) throw std::runtime_error{"no answer on this port"};
    return answer.substr(end + 4);
}

PrivateEtcd::PrivateEtcd(PrivateEtcdOptions options)
    : options_{std::move(options)}, folder_{"leasehold-etcd"} {
    if (!fs::exists("/usr/bin/etcd")) {
        throw std::runtime_error{"no /usr/bin/etcd: install the Debian package etcd-server"};
    }
    for (int attempt = 1;; ++attempt) {
        members_.clear();
        for (std::size_t i = 0; i < options_.members; ++i) {
            Member& member = *members_.emplace_back(std::make_unique<Member>());
            member.name = "member" + std::to_string(attempt) + '-' + std::to_string(i);
            member.port = free_port();
            member.peer_port = free_port();
            member.health_port = free_port();
            if (options_.gates_between) {
                member.gate = std::make_unique<TcpGate>("127.0.0.1", member.peer_port);
            }
        }
        try {
            for (const auto& member : members_) launch(*member);
            for (const auto& member : members_) wait_until_ready(*member);
            return;
        } catch (const EtcdEnded&) {
            // Another process may have taken a port in the meantime.
            if (attempt == starts) throw;
        }
    }
}

PrivateEtcd::~PrivateEtcd() = default;

void PrivateEtcd::launch(Member& member) {
    const std::string clients = options_.scheme + "://127.0.0.1:" + std::to_string(member.port);
    const auto at = [](std::uint16_t port) { return "http://127.0.0.1:" + std::to_string(port); };
    const auto peers = [&](const Member& one) {
        return at(one.gate ? one.gate->port() : one.peer_port);
    };
    std::string cluster;
    for (const auto& one : members_) {
        if (!cluster.empty()) cluster += ',';
        cluster += one->name + '=' + peers(*one);
    }
    Command command{
        .arguments = {"etcd", "--name=" + member.name,
                      "--data-dir=" + (folder_.path() / member.name).string(),
                      "--listen-client-urls=" + clients, "--advertise-client-urls=" + clients,
                      "--listen-peer-urls=" + at(member.peer_port),
                      "--initial-advertise-peer-urls=" + peers(member),
                      "--initial-cluster=" + cluster,
                      "--listen-metrics-urls=http://127.0.0.1:" +
                          std::to_string(member.health_port),
                      "--logger=zap", "--log-level=error"},
        .user = {},
        .folder = folder_.path(),
        .environment = {},
        .log = folder_.path() / (member.name + ".log")};
    command.arguments.insert(command.arguments.end(), options_.settings.begin(),
                             options_.settings.end());
    member.process.emplace(command);
}

void PrivateEtcd::wait_until_ready(Member& member) const {
    const auto log = [&] { return content_of(folder_.path() / (member.name + ".log")); };
    const auto deadline = Clock::now() + election_timeout;
    while (Clock::now() < deadline) {
        if (!member.process->running()) {
            throw EtcdEnded{"etcd ended while starting; its log:\n" + log()};
        }
        try {
            if (ask_http(member.health_port, "/health").contains("\"true\"")) return;
        } catch (const std::runtime_error&) {
        }
        std::this_thread::sleep_for(20ms);
    }
    throw std::runtime_error{"etcd does not become healthy; its log:\n" + log()};
}

std::uint16_t PrivateEtcd::port(std::size_t member) const {
    return members_.at(member)->port;
}

std::string PrivateEtcd::endpoints() const {
    std::string text;
    for (const auto& member : members_) {
        if (!text.empty()) text += ',';
        text += "127.0.0.1:" + std::to_string(member->port);
    }
    return text;
}

std::string PrivateEtcd::url(std::string_view prefix) const {
    return "etcd://" + endpoints() + '/' + std::string{prefix};
}

std::size_t PrivateEtcd::leader(std::size_t as_seen_by) const {
    const auto status_of = [](std::uint16_t port) {
        return ask_http(port, "/v3/maintenance/status", "{}");
    };
    const auto deadline = Clock::now() + election_timeout;
    while (Clock::now() < deadline) {
        std::string leader;
        try {
            leader = between(status_of(port(as_seen_by)), R"("leader":")", '"');
        } catch (const std::runtime_error&) {
        }
        for (std::size_t i = 0; i < members_.size() && !leader.empty(); ++i) {
            if (!members_[i]->process) continue;
            try {
                const std::string status = status_of(port(i));
                if (between(status, R"("member_id":")", '"') == leader) return i;
            } catch (const std::runtime_error&) {
            }
        }
        std::this_thread::sleep_for(20ms);
    }
    throw std::runtime_error{"etcd has no leader"};
}

void PrivateEtcd::kill(std::size_t member) {
    members_.at(member)->process.reset();
}

void PrivateEtcd::start(std::size_t member) {
    if (members_.at(member)->process) throw std::logic_error{"the member was not killed"};
    launch(*members_[member]);
    wait_until_ready(*members_[member]);
}

void PrivateEtcd::pause(std::size_t member) {
    members_.at(member)->process.value().pause();
}

void PrivateEtcd::resume(std::size_t member) {
    members_.at(member)->process.value().resume();
}

void PrivateEtcd::kill_all() {
    for (std::size_t i = 0; i < members_.size(); ++i) kill(i);
}

void PrivateEtcd::start_all() {
    for (const auto& member : members_) launch(*member);
    for (const auto& member : members_) wait_until_ready(*member);
}

std::string PrivateEtcd::id_of(std::size_t member) const {
    const std::string id =
        between(ask_http(port(member), "/v3/maintenance/status", "{}"), R"("member_id":")", '"');
    std::array<char, 16> digits{};
    const auto printed =
        std::to_chars(digits.data(), digits.data() + digits.size(), std::stoull(id), 16);
    return {digits.data(), printed.ptr};
}

void PrivateEtcd::cut_off(std::size_t member) {
    // Every connection between members begins with the id of the member that opened it.
    const std::string from = "X-Server-From: " + id_of(member) + "\r\n";
    for (std::size_t i = 0; i < members_.size(); ++i) {
        TcpGate& gate = *members_[i]->gate;
        if (i == member) {
            gate.hold();
        } else {
            gate.hold_connections_with(from);
        }
    }
}

void PrivateEtcd::join_again() {
    for (const auto& member : members_) member->gate->pass_everything();
}

PrivateEtcd& shared_etcd() {
    static PrivateEtcd etcd;
    return etcd;
}

}  // namespace leasehold::testing
