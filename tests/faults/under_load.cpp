#include "faults/under_load.hpp"

#include <leasehold/open_store.hpp>

#include <fstream>
#include <optional>

#include "faults/databases.hpp"
#include "lab/aftermath.hpp"
#include "lab/client.hpp"
#include "lab/load.hpp"

namespace leasehold::faults {
namespace {

constexpr std::size_t keys_under_load = 4;
constexpr std::size_t enough_grants = 120;

}  // namespace

std::vector<std::string> violations_under_load(
    const std::string& url, const std::string& afterwards,
    const std::function<void(const WaitForGrants& wait_for_grants)>& happens) {
    const testing::TemporaryFolder folder;
    const auto record = folder.path() / "history";
    {
        const lab::Load load{{.url = url, .clients = 4, .keys = keys_under_load, .record = record}};
        const auto wait_for_grants = [&] {
            const std::size_t wanted = load.grants() + enough_grants;
            EXPECT_TRUE(eventually([&] { return load.grants() >= wanted; }, 60s));
        };
        wait_for_grants();
        happens(wait_for_grants);
        wait_for_grants();
    }
    std::ifstream in{record};
    const lab::Operations history = lab::read_history(in);
    std::optional<lab::Aftermath> aftermath;
    if (!afterwards.empty()) {
        const auto store = ask_until_answered([&] { return open_store(afterwards); });
        aftermath = lab::read_aftermath(*store, lab::some_keys(keys_under_load));
    }
    std::vector<std::string> found;
    for (const lab::Violation& violation :
         lab::check(history, {.clock_drift = 20ms, .transactions_meet = true},
                    aftermath ? &*aftermath : nullptr)) {
        found.push_back(describe(violation));
    }
    return found;
}

}  // namespace leasehold::faults
