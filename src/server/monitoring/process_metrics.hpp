#pragma once

namespace leasehold::server {

class Families;

// Adds the processor time, memory and open files of this process, under Prometheus' usual names.
void add_process_metrics(Families& to);

}  // namespace leasehold::server
