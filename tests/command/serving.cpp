#include "command/serving.hpp"

#include <boost/json/parse.hpp>

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "command/host.hpp"
#include "unit/waiting.hpp"

namespace leasehold::command {
namespace {

testing::Command command(const std::string& store, std::vector<std::string> options,
                         std::vector<std::string> environment, std::filesystem::path log) {
    testing::Command result{.arguments = {LEASEHOLD_COMMAND, "serve"},
                            .environment = std::move(environment),
                            .log = std::move(log)};
    if (std::ranges::find(options, "--port") == options.end()) {
        result.arguments.insert(result.arguments.end(), {"--port", "0"});
    }
    if (!store.empty()) result.arguments.insert(result.arguments.end(), {"--store", store});
    result.arguments.insert(result.arguments.end(), options.begin(), options.end());
    return result;
}

}  // namespace

Serving::Serving(const std::string& store, std::vector<std::string> options,
                 std::vector<std::string> environment)
    : process_{command(store, std::move(options), std::move(environment), folder_.path() / "log")} {
    std::size_t at = std::string::npos;
    const bool ready = testing::eventually([&] {
        const bool running = process_.running();
        const std::string all = output();
        at = std::min(all.find("http://127.0.0.1:"), all.find("https://127.0.0.1:"));
        return (at != std::string::npos && all.find('\n', at) != std::string::npos) || !running;
    });
    if (!ready || at == std::string::npos) {
        throw std::runtime_error{"the server did not start: " + output()};
    }
    const std::string url = output().substr(at);
    host_ = url.substr(0, url.find(':', url.find("127")));
    port_ = static_cast<std::uint16_t>(std::stoi(url.substr(host_.size() + 1)));
}

std::string Serving::url() const {
    return host_ + ":" + std::to_string(port_);
}

int Serving::stop() {
    signal(SIGTERM);
    return wait();
}

std::string Serving::output() const {
    return content_of(folder_.path() / "log");
}

bool Serving::says(const std::string& text) const {
    return testing::eventually([&] { return output().find(text) != std::string::npos; });
}

boost::json::array Serving::lines(const std::string& message) const {
    boost::json::array found;
    std::istringstream all{output()};
    for (std::string line; std::getline(all, line);) {
        auto value = boost::json::parse(line);
        if (value.at("message").as_string() == std::string_view{message}) {
            found.push_back(std::move(value));
        }
    }
    return found;
}

}  // namespace leasehold::command
