#include "application.hpp"

#include <leasehold/open_store.hpp>

#include "mapping/schema.hpp"

namespace customers {

Application::Application(const ApplicationOptions& options)
    : pool_{[url = options.database] { return database::connect(url); }},
      desk_{leasehold::open_store(options.database), options.ttl},
      sessions_{desk_.locks, {.timeout = options.session_timeout, .clock = options.clock}},
      controller_{desk_, pool_, sessions_, options.hosts} {
    const auto connection = database::connect(options.database);
    make_tables(*connection);
    add_sample_data(*connection);
    if (options.protection == ApplicationOptions::Protection::on) protect(options.database);
}

void Application::protect(const std::string& database) {
    try {
        protect_tables(*leasehold::open_protection(database));
        desk_.database_enforces = true;
    } catch (const leasehold::StoreFault& fault) {
        if (fault.cause() != leasehold::StoreFault::Cause::configuration) throw;
        unprotected_because_ = fault.what();
    }
}

}  // namespace customers
