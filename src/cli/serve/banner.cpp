#include "cli/serve/banner.hpp"

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "cli/output.hpp"
#include "cli/subcommand.hpp"

namespace leasehold::cli {
namespace {

namespace fs = std::filesystem;

std::string quoted_for_shell(const std::string& text) {
    constexpr const char* plain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+";
    if (text.find_first_not_of(plain) == std::string::npos) return text;
    std::string result = "'";
    for (const char c : text) result.append(c == '\'' ? "'\\''" : std::string(1, c));
    return result + "'";
}

// How a shell finds this program.
std::string this_command() {
    std::error_code error;
    const fs::path self = fs::read_symlink("/proc/self/exe", error);
    const char* const folders = std::getenv("PATH");
    std::istringstream all{folders != nullptr ? folders : ""};
    for (std::string folder; std::getline(all, folder, ':');) {
        const fs::path candidate = fs::path{folder} / "leasehold";
        if (!fs::exists(candidate, error)) continue;
        return fs::equivalent(candidate, self, error) ? "leasehold"
                                                      : quoted_for_shell(self.string());
    }
    return quoted_for_shell(self.string());
}

}  // namespace

std::string banner(const std::string& url, const std::string& store, Admission admission) {
    const std::string command = this_command();
    const bool with_token = admission == Admission::with_token;
    std::ostringstream text;
    text << '\n'
         << painted("Leasehold " + std::string{version()}, Colour::bold) << " listens on "
         << painted(url, Colour::green) << '\n'
         << "and keeps its leases in " << store << ".\n"
         << "The console shows who holds what: " << painted(url + '/', Colour::green) << "\n\n"
         << "Try it in another terminal: alice takes a lock, bob is refused, and ls lists it.\n"
         << (with_token
                 ? "(LEASEHOLD_TOKEN_FILE must name a file with a token; `leasehold token` makes "
                   "one.)\n\n"
                 : "\n")
         << "  $ curl -s " << url << "/v1/locks/Order/1"
         << " -H 'Content-Type: application/json' -d '{\"owner\":\"alice\"}'"
         << (with_token ? " -H \"Authorization: Bearer $(cat \"$LEASEHOLD_TOKEN_FILE\")\"\n" : "\n")
         << "  $ " << command << " try Order/1 --owner bob --store " << url << '\n'
         << "  $ " << command << " ls --store " << url << "\n\n"
         << "All requests: " << url << "/openapi.json. Ctrl-C stops the server.\n\n";
    return text.str();
}

}  // namespace leasehold::cli
