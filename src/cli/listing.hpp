#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "cli/subcommand.hpp"

namespace leasehold::cli {

// Which leases `ls` and `watch` show.
struct Selection {
    std::string type{};
    std::string owner{};
    bool below = false;
};

// --type, --owner, --below and --store.
void add_selection(Subcommand& command, Invocation& call, Selection& selection);

// Up to `most` leases, page by page.
[[nodiscard]] HolderPage select(LockManager& locks, const Selection& selection, std::size_t most);

}  // namespace leasehold::cli
