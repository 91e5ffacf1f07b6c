#pragma once

namespace leasehold::server {

class Families;

// What this process uses of its machine, under the names that Prometheus has for that.
void add_process_metrics(Families& to);

}  // namespace leasehold::server
