#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "faults/databases.hpp"
#include "faults/grant_forever.hpp"

namespace leasehold::faults {
namespace {

// Built beside the tests.
std::string program() {
    return std::filesystem::read_symlink("/proc/self/exe").parent_path() /
           "leasehold_grant_forever";
}

}  // namespace

GrantForever::GrantForever(const std::string& url, const std::string& prefix,
                           std::vector<std::string> environment)
    : process_{{.arguments = {program(), url, prefix},
                .environment = std::move(environment),
                .log = folder_.path() / "log"}} {}

bool GrantForever::wait_for_grants(std::size_t count) {
    const auto granted = [&] {
        const std::vector<Told> lines = told();
        return static_cast<std::size_t>(std::ranges::count(lines, "granted", &Told::what));
    };
    return eventually([&] { return granted() >= count || !process_.running(); }, 60s) &&
           process_.running();
}

std::vector<Told> GrantForever::told() const {
    const std::string text = log();
    std::istringstream whole_lines{text.substr(0, text.rfind('\n') + 1)};
    std::vector<Told> lines;
    std::string lock_id;
    for (Told line; whole_lines >> line.what >> line.id >> lock_id >> line.fence;) {
        line.lock_id = LockId::parse(lock_id).value();
        lines.push_back(line);
    }
    return lines;
}

std::string GrantForever::log() const {
    std::ifstream file{folder_.path() / "log"};
    return {std::istreambuf_iterator<char>{file}, {}};
}

}  // namespace leasehold::faults
