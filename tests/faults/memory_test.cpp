// The memory store behind a server. Its leases end with the process, but they survive faults of the
// network and pauses of the process.
#include <csignal>

#include "command/serving.hpp"
#include "faults/databases.hpp"
#include "faults/under_load.hpp"
#include "support/tcp_gate.hpp"

namespace leasehold::faults {
namespace {

constexpr auto longer_than_a_lease = 2200ms;

class MemoryBehindAServer : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(, MemoryBehindAServer, ::testing::Values("memory"),
                         [](const auto& store) { return std::string{store.param}; });

TEST_P(MemoryBehindAServer, ShowsNoViolationUnderAnyFaultThatItSurvives) {
    using Gate = testing::TcpGate;
    command::Serving server{"memory:"};
    Gate gate{"127.0.0.1", server.port()};
    const auto during = [&](auto begin, Duration lasts) {
        begin();
        std::this_thread::sleep_for(lasts);
        server.signal(SIGCONT);
        gate.pass_everything();
        gate.accept();
        gate.set_conditions({});
    };
    const auto found = violations_under_load(
        "http://127.0.0.1:" + std::to_string(gate.port()) + "?io_timeout_ms=1000", "",
        [&](const WaitForGrants& wait_for_grants) {
            during([&] { server.signal(SIGSTOP); }, longer_than_a_lease);
            wait_for_grants();
            during(
                [&] {
                    gate.cut();
                    gate.refuse();
                },
                300ms);
            wait_for_grants();
            during([&] { gate.cut_before_answer(); }, 300ms);
            wait_for_grants();
            during([&] { gate.hold_answers(); }, longer_than_a_lease);
            wait_for_grants();
            during([&] { gate.hold_requests(); }, longer_than_a_lease);
            wait_for_grants();
            during([&] { gate.hold(); }, longer_than_a_lease);
            wait_for_grants();
            during(
                [&] { gate.set_conditions({.delay_from = 5ms, .delay_to = 60ms, .loss = 0.05}); },
                longer_than_a_lease);
        });
    EXPECT_TRUE(found.empty()) << found.size() << " violations, the first:\n" << found.front();
}

}  // namespace
}  // namespace leasehold::faults
