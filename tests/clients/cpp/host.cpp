#include "clients/cpp/host.hpp"

#include <sys/stat.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <stdexcept>

namespace leasehold::testing {
namespace {

std::uint16_t port_of(const boost::json::value& url) {
    const std::string text{url.as_string()};
    return static_cast<std::uint16_t>(std::stoi(text.substr(text.rfind(':') + 1)));
}

}  // namespace

Host::Host(const boost::json::value& options) : folder_{"leasehold-clients"} {
    const std::string in = folder_.path() / "in";
    const std::string out = folder_.path() / "out";
    for (const std::string& pipe : {in, out}) {
        if (mkfifo(pipe.c_str(), 0600) != 0) throw_errno("mkfifo");
    }
    process_.emplace(
        Command{.arguments = {"sh", "-c", R"(exec python3 -B "$0" <"$1" >"$2")",
                              LEASEHOLD_SOURCE_DIR "/tests/clients/host.py", in, out}});
    to_host_.open(in);
    from_host_.open(out);
    const boost::json::value started = control("start", {options});
    gate_port_ = port_of(started.at("gate"));
    server_port_ = port_of(started.at("server"));
}

boost::json::value Host::control(const char* what, const boost::json::array& words) {
    boost::json::array command{what};
    command.insert(command.end(), words.begin(), words.end());
    const std::string text = boost::json::serialize(command);
    to_host_ << text << std::endl;
    std::string answer;
    if (!std::getline(from_host_, answer))
        throw std::runtime_error{"the host has ended at " + text};
    return boost::json::parse(answer);
}

}  // namespace leasehold::testing
