#include "command/host.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "unit/waiting.hpp"

namespace leasehold::command {

using namespace std::chrono_literals;

testing::Finished leasehold(const std::vector<std::string>& arguments,
                            const std::vector<std::string>& environment) {
    testing::Command command{.arguments = {LEASEHOLD_COMMAND}, .environment = environment};
    command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
    return testing::run(command, 180s);
}

bool is_alive(pid_t process) {
    std::ifstream stat{"/proc/" + std::to_string(process) + "/stat"};
    std::string line;
    std::getline(stat, line);
    const std::size_t name_end = line.rfind(") ");
    return name_end != std::string::npos && line[name_end + 2] != 'Z';
}

std::vector<pid_t> children_of(pid_t process) {
    std::vector<pid_t> all;
    const auto tasks = std::filesystem::path{"/proc"} / std::to_string(process) / "task";
    std::error_code error;
    for (const auto& thread : std::filesystem::directory_iterator{tasks, error}) {
        std::ifstream list{thread.path() / "children"};
        for (pid_t child = 0; list >> child;) all.push_back(child);
    }
    return all;
}

std::string content_of(const std::filesystem::path& file) {
    std::ifstream in{file};
    return {std::istreambuf_iterator<char>{in}, {}};
}

Host::Host(const std::vector<std::string>& arguments, const std::string& store) {
    const std::string folder = folder_.path().string();
    testing::Command command{
        .arguments = {"sh", "-c",
                      "folder=$1; shift; \"$@\" & echo $! > $folder/pid.new; "
                      "mv $folder/pid.new $folder/pid; wait $!; echo $? > $folder/code.new; "
                      "mv $folder/code.new $folder/code; exec sleep 1000",
                      "host", folder, LEASEHOLD_COMMAND},
        .environment = {"LEASEHOLD_STORE=" + store},
        .log = folder_.path() / "log"};
    command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
    machine_.emplace(command);
    if (!testing::eventually([&] { return std::filesystem::exists(folder_.path() / "pid"); })) {
        throw std::runtime_error{"the command was not started: " + output()};
    }
    std::ifstream{folder_.path() / "pid"} >> pid_;
}

void Host::signal(int number) const {
    ::kill(pid_, number);
}

std::optional<int> Host::exit_code() const {
    std::ifstream file{folder_.path() / "code"};
    int code = 0;
    return file >> code ? std::optional{code} : std::nullopt;
}

std::string Host::output() const {
    return content_of(folder_.path() / "log");
}

}  // namespace leasehold::command
