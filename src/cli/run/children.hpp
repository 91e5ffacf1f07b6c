#pragma once

namespace leasehold::cli {

// SIGKILL to every child of this process. Whoever loses its parent becomes a child of the nearest
// subreaper, so a subreaper reaches everybody below it in a few rounds of killing and reaping.
void kill_children();

}  // namespace leasehold::cli
