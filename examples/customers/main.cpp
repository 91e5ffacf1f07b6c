// The customers application: `customers --help`.
#include <CLI/CLI.hpp>

#include <unistd.h>

#include <csignal>
#include <iostream>
#include <thread>

#include "application.hpp"
#include "web/http_server.hpp"

namespace {

struct Settings {
    customers::ApplicationOptions application{};
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
    app.add_option("--static", settings.application.static_files, "This application's files")
        ->capture_default_str();
}

// Without a password.
std::string shown(const std::string& database) {
    return database.starts_with("sqlite:") ? database : database.substr(0, database.find(':'));
}

void greet(const Settings& settings, std::uint16_t port, const std::string& unprotected_because) {
    const std::string url = "http://" + settings.address + ':' + std::to_string(port) + '/';
    std::cout << "\n  Customers, an application on Leasehold\n\n"
              << "    open   " << url << "\n\n"
              << "  Sign in with any name. Then open the page again in a private window as\n"
              << "  somebody else, and edit the same customer. Ctrl-C ends it.\n\n";
    if (!unprotected_because.empty()) {
        std::cout << "  Programs that do not ask for the lock can change a customer whose form\n"
                  << "  somebody has open. The database cannot refuse that (docs/protect.md says\n"
                  << "  which rights its user needs):\n"
                  << "  " << unprotected_because << "\n"
                  << std::endl;
        return;
    }
    std::cout << "  The database refuses to write a customer whose form somebody has open:\n"
              << "  try it in a database shell on " << shown(settings.application.database) << "\n"
              << std::endl;
}

// The signals that end the program are waited for by one thread, and handled as plain code.
void stop_at_signal(const sigset_t& signals, customers::web::HttpServer& server,
                    customers::Application& application) {
    int signal = 0;
    sigwait(&signals, &signal);
    application.stop_waiting();
    server.stop();
}

void run(Settings& settings) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);

    settings.application.hosts = {"localhost", "127.0.0.1", "[::1]", settings.address};
    for (const std::string& host : settings.hosts) settings.application.hosts.push_back(host);
    settings.application.ttl = seconds(settings.ttl_s);
    settings.application.protection = customers::ApplicationOptions::Protection::on;
    settings.application.session_timeout = seconds(settings.session_timeout_s);
    customers::Application application{settings.application};
    customers::web::HttpServer server{
        [&](customers::web::Request request) { return application.handle(std::move(request)); }};
    const std::uint16_t port = server.bind(settings.address, settings.port);
    greet(settings, port, application.unprotected_because());
    const std::jthread stopper{[&] { stop_at_signal(signals, server, application); }};
    server.serve();
    // For the stopper, if it was not a signal that ended it.
    kill(getpid(), SIGTERM);
}

}  // namespace

int main(int argc, char** argv) try {
    Settings settings;
    settings.application.static_files = CUSTOMERS_STATIC_FILES;
    CLI::App app{"A web application whose edit forms are locked by Leasehold"};
    add_options(app, settings);
    CLI11_PARSE(app, argc, argv);
    run(settings);
    return 0;
} catch (const std::exception& error) {
    std::cerr << "customers: " << error.what() << '\n';
    return 1;
}
