#include "database/pool.hpp"

namespace customers::database {

std::unique_ptr<Connection> Pool::take() {
    {
        const std::scoped_lock lock{mutex_};
        if (!idle_.empty()) {
            auto connection = std::move(idle_.back());
            idle_.pop_back();
            return connection;
        }
    }
    return open();
}

void Pool::give_back(std::unique_ptr<Connection> connection) {
    const std::scoped_lock lock{mutex_};
    idle_.push_back(std::move(connection));
}

}  // namespace customers::database
