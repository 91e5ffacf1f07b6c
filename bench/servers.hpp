#pragma once

#include "support/private_server.hpp"

namespace leasehold::bench {

// The tests' servers are small to start fast; these have the memory their makers set as default.
// Flushing is left at its durable default.
inline testing::PrivateServerOptions postgres_options() {
    return {.settings = {"shared_buffers=128MB"}, .environment = {}};
}
inline testing::PrivateServerOptions mariadb_options() {
    return {.settings = {"--innodb-buffer-pool-size=128M", "--innodb-log-file-size=96M"},
            .environment = {}};
}

inline testing::PrivateServerOptions mysql_options() {
    return {.settings = {"--innodb-buffer-pool-size=128M", "--innodb-redo-log-capacity=100M",
                         "--innodb-use-native-aio=ON", "--performance-schema=ON"},
            .environment = {}};
}

}  // namespace leasehold::bench
