#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

namespace leasehold::bench {

// A store that was built and whose server runs.
struct RunningStore {
    std::string name;
    std::string url;
    // How much processor time the server has used for Leasehold's connections since they were
    // opened, in seconds. Empty where the server is not asked for it.
    std::function<double()> server_time{};
};

// Runs the function on each of the named stores, one after the other, each with a server of its
// own. Leaves out a store that was not built. `http` is a server in memory.
using StoreNames = std::initializer_list<std::string_view>;
void on_stores(StoreNames names, const std::function<void(const RunningStore&)>& run);

// What this process has used of the processors, in seconds.
[[nodiscard]] double own_processor_time();

}  // namespace leasehold::bench
