#include "stage.hpp"

#include <atomic>
#include <thread>

#include "support/private_server.hpp"

namespace customers::testing {
namespace {

std::string new_name() {
    static std::atomic<int> number = 0;
    return "customers_" + std::to_string(++number);
}

std::string new_database(const std::string& kind, const std::filesystem::path& folder) {
    const std::string name = new_name();
    if (kind == "sqlite") return "sqlite:" + (folder / "customers.db").string();
    if (kind == "postgres") {
        leasehold::testing::shared_postgres().create_database(name);
        return leasehold::testing::shared_postgres().url(name);
    }
    if (kind == "mysql") {
        leasehold::testing::shared_mysql().create_database(name);
        return leasehold::testing::shared_mysql().url(name);
    }
    leasehold::testing::shared_mariadb().create_database(name);
    return leasehold::testing::shared_mariadb().url(name);
}

}  // namespace

bool eventually(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + 60s;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        std::this_thread::sleep_for(5ms);
    }
    return true;
}

Stage::Stage() : url_{new_database(GetParam(), folder_.path())} {
    open();
}

void Stage::open(ApplicationOptions options) {
    application_.reset();
    options.database = url_;
    application_ = std::make_unique<Application>(options);
}

std::string Stage::sql(const std::string& statement) {
    const auto rows = database::connect(url_)->run(statement).rows;
    return rows.empty() ? "" : rows.front().front();
}

bool Stage::is_free(const leasehold::LockKey& key) {
    return desk().locks.holders(key).empty();
}

}  // namespace customers::testing
