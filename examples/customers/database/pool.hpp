#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "database/connection.hpp"

namespace customers::database {

// Connections that are open and idle. Thread-safe. There are as many as requests were ever under
// way at once, which the number of the web server's threads bounds.
class Pool {
public:
    explicit Pool(std::string url) : url_{std::move(url)} {}

    // An idle connection or a new one. The database may have closed an idle one.
    [[nodiscard]] std::unique_ptr<Connection> take();
    [[nodiscard]] std::unique_ptr<Connection> open() const { return connect(url_); }
    // Takes back a connection without a transaction and without an error.
    void give_back(std::unique_ptr<Connection> connection);

private:
    const std::string url_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<Connection>> idle_;  // guarded by mutex_
};

}  // namespace customers::database
