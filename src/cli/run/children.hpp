#pragma once

namespace leasehold::cli {

// Sends SIGKILL to every child of this process. A process that loses its parent becomes a child of
// the nearest subreaper, so a subreaper kills everything below it in a few rounds of killing and
// reaping.
void kill_children();

}  // namespace leasehold::cli
