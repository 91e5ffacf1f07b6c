// What connections keep of the server's memory while they are idle.
#include <fstream>
#include <string>
#include <vector>

#include "command/serving.hpp"
#include "hostile/hostile.hpp"

namespace leasehold::hostile {
namespace {

// The server's resident memory in bytes.
std::size_t resident(const command::Serving& server) {
    std::ifstream statm{"/proc/" + std::to_string(server.pid()) + "/statm"};
    std::size_t pages = 0;
    statm >> pages >> pages;
    return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

// Each connection sends a long text in every field, one field in each request, has a long answer,
// and stays.
TEST(IdleConnections, KeepLittleOfTheServersMemory) {
    constexpr std::size_t connections = 300;
    constexpr std::size_t text_bytes = 15'000;
    command::Serving server{"memory:", {"--threads", "2"}};
    const std::string text(text_bytes, 'x');
    std::string requests = testing::message("GET", "/" + text);
    for (const char* name :
         {"Accept", "Accept-Encoding", "Content-Type", "If-None-Match", "X-Unknown"}) {
        requests += testing::message("GET", "/healthz", {}, name + (": " + text) + "\r\n");
    }
    requests += testing::message("POST", "/v1/batch", R"({"requests":[]})" + text);
    Client holder = server.connect();
    share_among(holder, 5);
    requests += testing::message("GET", "/v1/locks/Shared/1");
    constexpr int answers = 8;

    std::vector<Client> idle;
    const auto come = [&] {
        Client& client = idle.emplace_back(server.connect());
        client.expect_another_protocol();
        client.send(requests);
        for (int i = 0; i < answers; ++i) ASSERT_NE(client.receive().status, 0U);
    };
    for (int i = 0; i < 20; ++i) come();  // what the server needs once
    const std::size_t before = resident(server);
    for (std::size_t i = 0; i < connections; ++i) come();
    const std::size_t now = resident(server);
    EXPECT_LE(now, before + connections * 24 * 1024)
        << (now - before) / connections << " bytes each";
}

}  // namespace
}  // namespace leasehold::hostile
