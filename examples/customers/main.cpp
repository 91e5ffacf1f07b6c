// The customers application: `customers --help`.
#include <CLI/CLI.hpp>

#include <iostream>

#include <leasehold/web/httplib.hpp>

#include "application.hpp"
#include "web/http_server.hpp"

namespace {

struct Settings {
    customers::ApplicationOptions application{};
    std::string static_files = CUSTOMERS_STATIC_FILES;
    std::string address = "127.0.0.1";
    std::uint16_t port = 7480;
    std::vector<std::string> hosts{};
    double ttl_s = 120;
    double session_timeout_s = 1'800;
};

leasehold::Duration seconds(double number) {
    return std::chrono::duration_cast<leasehold::Duration>(std::chrono::duration<double>{number});
}

void add_options(CLI::App& app, Settings& settings) {
    app.add_option("--database", settings.application.database,
                   "sqlite:FILE, postgres://..., mysql://... or mariadb://...; data and locks")
        ->envname("CUSTOMERS_DATABASE")
        ->capture_default_str();
    app.add_option("--address", settings.address, "Where to listen")->capture_default_str();
    app.add_option("--port", settings.port, "0: any free one")->capture_default_str();
    app.add_option("--host", settings.hosts, "A name that people reach it by, beside localhost");
    app.add_option("--ttl-s", settings.ttl_s, "Life of an edit lock that nobody renews")
        ->check(CLI::Range(1.0, 3'600.0))
        ->capture_default_str();
    app.add_option("--session-timeout-s", settings.session_timeout_s,
                   "After this time without activity a person is signed out")
        ->check(CLI::Range(1.0, 86'400.0))
        ->capture_default_str();
    app.add_option("--static", settings.static_files, "This application's files")
        ->capture_default_str();
}

void greet(const std::string& url, const std::string& database,
           const std::string& unprotected_because) {
    std::cout << "\n  Customers, an application on Leasehold\n\n"
              << "    open   " << url << "/\n\n"
              << "  Sign in with any name. Then open the page again in a private window as\n"
              << "  somebody else, and edit the same customer. Ctrl-C ends it.\n\n";
    if (unprotected_because.empty()) {
        // Without a password.
        const bool is_file = database.starts_with("sqlite:");
        std::cout << "  The database refuses to write a customer whose form somebody has open:\n"
                  << "  try it in a database shell on "
                  << (is_file ? database : database.substr(0, database.find(':'))) << "\n";
    } else {
        std::cout << "  Programs that do not ask for the lock can change a customer whose form\n"
                  << "  somebody has open. The database cannot refuse that (docs/protect.md says\n"
                  << "  which rights its user needs):\n"
                  << "  " << unprotected_because << "\n";
    }
    std::cout << std::endl;
}

bool run(Settings& settings) {
    settings.application.hosts = {"localhost", "127.0.0.1", "[::1]", settings.address};
    for (const std::string& host : settings.hosts) settings.application.hosts.push_back(host);
    settings.application.ttl = seconds(settings.ttl_s);
    settings.application.protection = customers::ApplicationOptions::Protection::on;
    settings.application.session_timeout = seconds(settings.session_timeout_s);
    customers::Application application{settings.application};
    httplib::Server server;
    customers::web::set_up(server, settings.static_files,
                           [&](auto request) { return application.handle(std::move(request)); });
    return leasehold::web::serve_until_signal(server, application.desk().routes, settings.address,
                                              settings.port, [&](const std::string& url) {
                                                  greet(url, settings.application.database,
                                                        application.unprotected_because());
                                              });
}

}  // namespace

int main(int argc, char** argv) try {
    Settings settings;
    CLI::App app{"A web application whose edit forms are locked by Leasehold"};
    add_options(app, settings);
    CLI11_PARSE(app, argc, argv);
    return run(settings) ? 0 : 1;
} catch (const std::exception& error) {
    std::cerr << "customers: " << error.what() << '\n';
    return 1;
}
