#include "cli/serve/serve.hpp"

#include <leasehold/open_store.hpp>

#include <unistd.h>

#include <csignal>
#include <functional>
#include <mutex>
#include <system_error>

#include "cli/output.hpp"
#include "cli/serve/banner.hpp"
#include "cli/serve/notify.hpp"
#include "cli/serve/open_files.hpp"
#include "cli/serve/signal_thread.hpp"
#include "cli/serve/token_file.hpp"
#include "cli/subcommand.hpp"
#include "server/http/message.hpp"
#include "server/monitoring/metrics.hpp"
#include "server/store/observed_store.hpp"
#include "server/transport/tls.hpp"
#include "server_url.hpp"

namespace leasehold::cli {
namespace {

using server::Log;
using server::Server;

// The store's URL for people: without its password and its parameters.
std::string public_url(const std::string& store) {
    const std::string shown = without_secrets(store);
    return shown.substr(0, shown.find('?'));
}

std::string place_of(const std::string& address, std::uint16_t port) {
    const bool v6 = address.find(':') != std::string::npos;
    return (v6 ? '[' + address + ']' : address) + ':' + std::to_string(port);
}

std::unique_ptr<Store> open_configured_store(const EffectiveConfig& config) {
    try {
        return open_store(config.values().store);
    } catch (const BadRequest& bad) {
        throw BadRequest{config.origin("store") + ": " + bad.what()};
    }
}

void prepare_files(Log& log, std::size_t connections) {
    raise_file_limit();
    if (connections <= connections_for(open_files_allowed())) return;
    log.warning(
        "fewer files may be open than `connections` needs; raise the limit of open files, or lower "
        "connections",
        {{"files", open_files_allowed()}, {"connections", connections}});
}

void warn_of_exposure(Log& log, const NamedFile& file) {
    for (const Exposure& exposure : exposures_of(file)) {
        log.warning(exposure.text + "; " + exposure.advice, {{"file", exposure.path}});
    }
}

// A configuration file is secret if it names the store's password.
void warn_of_open_config(Log& log, const EffectiveConfig& config) {
    const bool names_store = config.origin("store").starts_with(config.file() + ':');
    if (names_store && StoreUrl::parse(config.values().store, {}).may_hold_a_secret()) {
        warn_of_exposure(log, {"the configuration file", config.file()});
    }
}

void tell_of_store(Log& log, const Config& config, const StoreStatus& status) {
    log.info("store opened", {{"version", version()},
                              {"store", public_url(config.store)},
                              {"name", status.name},
                              {"durability", to_string(status.durability)}});
    for (const std::string& warning : status.warnings) {
        log.warning("store", {{"warning", warning}});
    }
    const StoreUrl url = StoreUrl::parse(config.store, {});
    for (const NamedFile& file : secret_files_of(url)) warn_of_exposure(log, file);
}

// The names of the settings whose values differ, except log_level.
std::string differences(const Config& before, const Config& after) {
    std::string names;
    for (const Setting& setting : settings()) {
        if (setting.name == "log_level" || setting.show(before) == setting.show(after)) continue;
        names.append(names.empty() ? "" : ", ").append(setting.name);
    }
    return names;
}

std::shared_ptr<const server::Tokens> tokens_of(const Config& config, Log& log) {
    if (config.tokens.empty()) return nullptr;
    auto tokens = std::make_shared<const server::Tokens>(read_token_file(config.tokens));
    log.info("tokens read", {{"file", config.tokens}, {"tokens", tokens->size()}});
    warn_of_exposure(log, {"the token file", config.tokens});
    return tokens;
}

std::shared_ptr<const server::TlsIdentity> identity_of(const Config& config, Log& log) {
    if (config.tls_certificate.empty()) return nullptr;
    auto identity =
        std::make_shared<const server::TlsIdentity>(config.tls_certificate, config.tls_key);
    const auto until = identity->valid_until();
    log.info("certificate read",
             {{"file", config.tls_certificate}, {"valid_until", server::http_date(until)}});
    if (until < std::chrono::system_clock::now()) {
        log.warning("the certificate has expired: clients will refuse it",
                    {{"file", config.tls_certificate}});
    }
    warn_of_exposure(log, {"the key", config.tls_key});
    return identity;
}

server::ServerOptions options_of(const EffectiveConfig& effective, Log& log) {
    const Config& config = effective.values();
    warn_of_open_config(log, effective);
    server::ServerOptions options = config.server;
    const auto per_second = static_cast<double>(config.token_rate);
    options.rate = {.per_second = per_second, .at_once = per_second};
    const auto handshakes = static_cast<double>(config.handshakes_per_address);
    options.handshakes_per_address = {.per_second = handshakes, .at_once = 10 * handshakes};
    options.tokens = tokens_of(config, log);
    options.identity = identity_of(config, log);
    return options;
}

class Serving {
public:
    Serving(const CommandLine& line, const EffectiveConfig& config)
        : line_{line},
          config_{config.values()},
          log_{config_.log_level, config_.log_format},
          options_{options_of(config, log_)},
          signals_{{.stop = [this](int number) { stop(number); }, .reload = [this] { reload(); }}},
          locks_{std::make_unique<server::ObservedStore>(open_configured_store(config), observers_),
                 config_.limits} {}

    int run(Greeting greeting) {
        prepare_files(log_, config_.server.connections);
        tell_of_store(log_, config_, locks_.status());
        std::optional<Server> server;
        try {
            open(server);
        } catch (const std::system_error& error) {
            complain("cannot listen on " + place_of(config_.server.address, config_.server.port) +
                     ": " + error.code().message() + "; --address and --port name another place");
            return store_failed;
        }
        const std::string place = place_of(config_.server.address, server->port());
        const bool secure = !config_.tls_certificate.empty();
        const std::string url = (secure ? "https://" : "http://") + place;
        log_.info("ready", {{"url", url}});
        if (greeting == Greeting::banner) {
            print_as_is(
                banner(url, public_url(config_.store),
                       config_.tokens.empty() ? Admission::everybody : Admission::with_token));
            (void)flush_output();
        }
        notify_manager("READY=1\n");
        try {
            server->run();
        } catch (const std::system_error& error) {
            close();
            complain(std::string{error.what()} + "; --threads asks for fewer");
            return store_failed;
        }
        close();
        log_.info("stopped");
        return done;
    }

private:
    void open(std::optional<Server>& server) {
        const std::lock_guard lock{mutex_};
        options_.observer = &observers_;
        options_.metrics = &metrics_;
        server_ = &server.emplace(locks_, options_);
    }

    // Waits until a signal has been handled: its handler uses the server.
    void close() {
        const std::lock_guard lock{mutex_};
        server_ = nullptr;
    }

    void stop(int number) {
        const char* const name = number == SIGTERM ? "SIGTERM" : "SIGINT";
        const std::lock_guard lock{mutex_};
        if (server_ == nullptr) ::_exit(128 + number);
        log_.info("stopping", {{"signal", name}, {"connections", server_->connections()}});
        notify_manager("STOPPING=1\n");
        server_->stop();
    }

    void reload() {
        try {
            const EffectiveConfig now{line_};
            log_.set_level(now.values().log_level);
            log_.info("configuration read again");
            const std::string later = differences(config_, now.values());
            if (!later.empty()) {
                log_.warning("these settings have changed and need a restart",
                             {{"settings", later}});
            }
        } catch (const std::exception& error) {
            log_.error("the configuration was not read again", {{"error", error.what()}});
        }
        reload("the tokens were not read again; the old ones stay", [this] {
            options_.tokens = tokens_of(config_, log_);
            if (server_ != nullptr && options_.tokens) server_->use(options_.tokens);
        });
        reload("the certificate was not read again; the old one stays", [this] {
            options_.identity = identity_of(config_, log_);
            if (server_ != nullptr && options_.identity) server_->use(options_.identity);
        });
    }

    void reload(std::string_view failed, const std::function<void()>& read) {
        try {
            const std::lock_guard lock{mutex_};
            read();
        } catch (const std::exception& error) {
            log_.error(failed, {{"error", error.what()}});
        }
    }

    const CommandLine line_;
    const Config config_;
    std::mutex mutex_;
    Server* server_ = nullptr;  // guarded by mutex_; while it serves
    Log log_;
    // Read before the store is opened: a bad token file must not create a database. Guarded by
    // mutex_ once signals_ exists.
    server::ServerOptions options_;
    server::Metrics metrics_{std::string{version()}};
    server::BothObservers observers_{log_, metrics_};
    SignalThread signals_;
    LockManager locks_;
};

}  // namespace

int serve(const CommandLine& line, Greeting greeting) {
    const EffectiveConfig config{line};
    block_signals();
    Serving serving{line, config};
    return serving.run(greeting);
}

}  // namespace leasehold::cli
