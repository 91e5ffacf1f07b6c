#include "cli/listing.hpp"

#include <algorithm>
#include <iterator>

namespace leasehold::cli {

void add_selection(Subcommand& command, Invocation& call, Selection& selection) {
    command.text("--type", "TYPE", selection.type, "only keys of this type")
        .text("--owner", "OWNER", selection.owner, "only leases of this owner")
        .flag("--below", selection.below, "and of every owner below it")
        .store(call);
}

HolderPage select(LockManager& locks, const Selection& selection, std::size_t most) {
    List query;
    if (!selection.type.empty()) query.type = selection.type;
    if (!selection.owner.empty()) query.owner = selection.owner;
    if (selection.below) query.scope = OwnerScope::below;
    HolderPage all;
    while (all.size() < most) {
        query.limit = std::min(most - all.size(), locks.limits().page_rows);
        HolderPage page = locks.list(query);
        const bool last = !page.may_continue(query.limit);
        if (!last) query.after = page.last();
        std::ranges::move(page.items, std::back_inserter(all.items));
        all.store_now = page.store_now;
        if (last) break;
    }
    return all;
}

}  // namespace leasehold::cli
