#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/process.hpp"

namespace leasehold::testing {

struct PrivateEtcdOptions {
    std::size_t members = 1;
    // For every member, as in "--max-txn-ops=64".
    std::vector<std::string> settings = {};
    // "https" with settings that name the certificates.
    std::string scheme = "http";
    // Whether members can be cut off from each other: then they talk through gates.
    bool gates_between = false;
};

// A real etcd server: one member or several, with new data in a temporary folder, on ports of
// 127.0.0.1, with durable default settings. It ends with this object, or with the process. Throws
// std::runtime_error with the end of a member's log, or with the Debian package that is missing.
// Any thread may call port(), endpoints() and url(); call the other functions from one thread at a
// time.
class PrivateEtcd {
public:
    explicit PrivateEtcd(PrivateEtcdOptions options = {});
    ~PrivateEtcd();
    PrivateEtcd(const PrivateEtcd&) = delete;
    PrivateEtcd& operator=(const PrivateEtcd&) = delete;

    [[nodiscard]] std::uint16_t port(std::size_t member = 0) const;
    // "127.0.0.1:2379,127.0.0.1:2380"
    [[nodiscard]] std::string endpoints() const;
    [[nodiscard]] std::string url(std::string_view prefix = "locks") const;

    // The number of the leading member, as another member sees it. Waits until there is a leader.
    [[nodiscard]] std::size_t leader(std::size_t as_seen_by = 0) const;

    // SIGKILL; returns when it is gone.
    void kill(std::size_t member = 0);
    // After kill(): starts the member with the same data and ports. Returns when the cluster
    // answers through it.
    void start(std::size_t member = 0);
    // SIGSTOP; returns when it is paused.
    void pause(std::size_t member = 0);
    void resume(std::size_t member = 0);

    // All at once.
    void kill_all();
    void start_all();

    // Nothing passes between this member and the others, in either direction, until it is joined
    // again. Clients still reach it.
    void cut_off(std::size_t member);
    void join_again();

private:
    struct Member;
    void launch(Member& member);
    void wait_until_ready(Member& member) const;
    // As hexadecimal digits.
    [[nodiscard]] std::string id_of(std::size_t member) const;

    PrivateEtcdOptions options_;
    TemporaryFolder folder_;
    std::vector<std::unique_ptr<Member>> members_;
};

// The body of the answer to a plain HTTP request to a local port; a POST if there is a
// body.
[[nodiscard]] std::string ask_http(std::uint16_t port, const std::string& path,
                                   const std::string& body = {});

// One for the whole process, started at the first call, ended at exit.
PrivateEtcd& shared_etcd();

}  // namespace leasehold::testing
