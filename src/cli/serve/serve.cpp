#include "cli/serve/serve.hpp"

#include <leasehold/open_store.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <functional>
#include <mutex>
#include <new>
#include <set>
#include <system_error>

#include "cli/output.hpp"
#include "cli/serve/banner.hpp"
#include "cli/serve/free_memory.hpp"
#include "cli/serve/hardening.hpp"
#include "cli/serve/notify.hpp"
#include "cli/serve/open_files.hpp"
#include "cli/serve/security_findings.hpp"
#include "cli/serve/signal_thread.hpp"
#include "cli/serve/token_file.hpp"
#include "cli/subcommand.hpp"
#include "server/access/audit.hpp"
#include "server/http/message.hpp"
#include "server/monitoring/metrics.hpp"
#include "server/store/observed_store.hpp"
#include "server/transport/tls.hpp"
#include "server_url.hpp"

namespace leasehold::cli {
namespace {

using server::Log;
using server::Server;

namespace json = boost::json;

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

// The settings that differ from their defaults. Nothing of the store's URL is secret in them.
json::object given_settings(const EffectiveConfig& config) {
    json::object given;
    for (const Setting& setting : settings()) {
        const std::string value = setting.show(config.values());
        if (value == setting.show({})) continue;
        given[setting.name] = setting.name == "store" ? public_url(value) : value;
    }
    return given;
}

// The names of the tokens that are in one list and not, or not alike, in the other.
json::array names_missing(const std::vector<server::Token>& these,
                          const std::vector<server::Token>& those) {
    std::set<std::string> entries;
    for (const server::Token& token : those) entries.insert(token_entry(token));
    json::array names;
    for (const server::Token& token : these) {
        if (!entries.contains(token_entry(token))) names.emplace_back(token.name);
    }
    return names;
}

std::unique_ptr<server::Audit> audit_of(const Config& config, Log& log) {
    if (config.audit.empty()) return nullptr;
    auto audit = std::make_unique<server::Audit>(config.audit, log);
    warn_of_exposure(log, {"the audit file", config.audit});
    return audit;
}

void tell_of_expiry(Log& log, const std::vector<server::Token>& tokens) {
    constexpr std::chrono::days soon{14};
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    for (const server::Token& token : tokens) {
        if (!token.expires || *token.expires > now + soon) continue;
        log.warning(*token.expires <= now ? "a token has expired" : "a token expires soon",
                    {{"token", token.name}, {"expires", date_time(*token.expires)}});
    }
}

std::shared_ptr<const server::JwtVerifier> verifier_of(const Config& config, Log& log) {
    if (config.jwt_keys.empty()) return nullptr;
    auto verifier = std::make_shared<const server::JwtVerifier>(
        server::VerificationKeys::read(config.jwt_keys), config.jwt);
    log.info("keys of JWTs read", {{"file", config.jwt_keys}, {"keys", verifier->keys()}});
    warn_of_exposure(log, {"the key set", config.jwt_keys, true});
    return verifier;
}

std::shared_ptr<const server::Tokens> tokens_of(const Config& config, Log& log) {
    if (!config.wants_tokens()) return nullptr;
    std::vector<server::Token> entries;
    if (!config.tokens.empty()) {
        entries = read_token_file(config.tokens);
        log.info("tokens read", {{"file", config.tokens}, {"tokens", entries.size()}});
        tell_of_expiry(log, entries);
        warn_of_exposure(log, {"the token file", config.tokens});
    }
    return std::make_shared<const server::Tokens>(std::move(entries), verifier_of(config, log));
}

std::shared_ptr<const server::TlsIdentity> identity_of(const Config& config, Log& log) {
    if (config.tls_certificate.empty()) return nullptr;
    auto identity = std::make_shared<const server::TlsIdentity>(
        config.tls_certificate, config.tls_key, config.tls_client_ca);
    const auto until = identity->valid_until();
    log.info("certificate read",
             {{"file", config.tls_certificate}, {"valid_until", server::http_date(until)}});
    if (until < std::chrono::system_clock::now()) {
        log.warning("the certificate has expired: clients will refuse it",
                    {{"file", config.tls_certificate}});
    }
    warn_of_exposure(log, {"the key", config.tls_key});
    warn_of_exposure(log, {"the file of client authorities", config.tls_client_ca, true});
    return identity;
}

// The documentation that is installed with this program, wherever that is.
std::filesystem::path installed_documentation() {
    std::error_code unknown;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", unknown);
    if (unknown) return {};
    return (program.parent_path() / LEASEHOLD_DOCUMENTATION).lexically_normal();
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
    options.documentation = installed_documentation();
    return options;
}

// Notices that a file was replaced or written. Not thread-safe.
class ChangedFile {
public:
    explicit ChangedFile(std::string path) : path_{std::move(path)}, seen_{look()} {}

    [[nodiscard]] bool has_changed() {
        const Look before = std::exchange(seen_, look());
        return before != seen_;
    }

private:
    // The file's identity, size and time.
    using Look = std::array<std::int64_t, 4>;

    [[nodiscard]] Look look() const {
        struct stat about{};
        if (path_.empty() || ::stat(path_.c_str(), &about) != 0) return {};
        constexpr std::int64_t nanoseconds = 1'000'000'000;
        return {static_cast<std::int64_t>(about.st_dev), static_cast<std::int64_t>(about.st_ino),
                about.st_size, about.st_mtim.tv_sec * nanoseconds + about.st_mtim.tv_nsec};
    }

    const std::string path_;
    Look seen_;
};

class Serving {
public:
    Serving(const CommandLine& line, const EffectiveConfig& config)
        : line_{line},
          config_{config.values()},
          log_{config_.log_level, config_.log_format},
          audit_{audit_of(config_, log_)},
          options_{options_of(config, log_)},
          jwt_keys_{config_.jwt_keys},
          signals_{handlers()},
          locks_{std::make_unique<server::ObservedStore>(open_configured_store(config), observers_),
                 config_.limits} {
        audit("start", "done", {{"version", version()}, {"settings", given_settings(config)}});
    }

    int run(Greeting greeting) {
        for (const std::string& risk : risks_of(config_)) log_.warning(risk);
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
                       config_.wants_tokens() ? Admission::with_token : Admission::everybody));
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
        options_.audit = audit_.get();
        options_.findings = [this] { return security_findings(); };
        server_ = &server.emplace(locks_, options_);
    }

    [[nodiscard]] std::vector<server::Finding> security_findings() {
        const std::lock_guard lock{mutex_};
        return security_findings_of(config_, options_);
    }

    // Waits until a signal has been handled: its handler uses the server.
    void close() {
        const std::lock_guard lock{mutex_};
        server_ = nullptr;
    }

    SignalThread::Handlers handlers() {
        // Longer than the server needs for what is under way, even if it has to wait for memory.
        constexpr std::chrono::seconds longer{10};
        SignalThread::Handlers all{.stop = [this](int number) { stop(number); },
                                   .longest_stop = longer + std::chrono::ceil<std::chrono::seconds>(
                                                                config_.server.drain_deadline),
                                   .reload = [this] { reload(); }};
        if (!config_.jwt_keys.empty()) all.tick = [this] { reload_changed_keys(); };
        return all;
    }

    void stop(int number) {
        const char* const name = number == SIGTERM ? "SIGTERM" : "SIGINT";
        const std::lock_guard lock{mutex_};
        if (server_ == nullptr) ::_exit(128 + number);
        free_memory_.release_for_the_end();
        log_.info("stopping", {{"signal", name}, {"connections", server_->connections()}});
        try {
            audit("stop", "done", {{"signal", name}});
        } catch (const std::bad_alloc&) {
            // The server stops all the same.
            log_.warning("no memory to write the stop to the audit file");
        }
        notify_manager("STOPPING=1\n");
        server_->stop();
    }

    void audit(std::string_view action, std::string_view outcome, json::object facts) {
        if (!audit_) return;
        audit_->record({.action = action,
                        .outcome = outcome,
                        .by_administrator = true,
                        .facts = std::move(facts)});
    }

    void reload() {
        reload("audit", "the audit file was not opened again; the old one stays", [this] {
            if (audit_) audit_->reopen();
        });
        try {
            const EffectiveConfig now{line_};
            log_.set_level(now.values().log_level);
            log_.info("configuration read again");
            {
                // The tokens are read again below, by these rules.
                const std::lock_guard lock{mutex_};
                config_.jwt = now.values().jwt;
            }
            const std::string later = differences(config_, now.values());
            if (!later.empty()) {
                log_.warning("these settings have changed and need a restart",
                             {{"settings", later}});
            }
            audit("configuration", "done", {{"need_restart", later}});
        } catch (const std::exception& error) {
            log_.error("the configuration was not read again", {{"error", error.what()}});
            audit("configuration", "failed", {{"error", error.what()}});
        }
        reload("tokens", "the tokens were not read again; the old ones stay",
               [this] { reload_tokens(); });
        reload("certificate", "the certificate was not read again; the old one stays", [this] {
            options_.identity = identity_of(config_, log_);
            if (server_ != nullptr && options_.identity) server_->use(options_.identity);
        });
    }

    // Under mutex_.
    void reload_tokens() {
        const auto before = options_.tokens;
        if (!before) return;
        use(tokens_of(config_, log_));
        audit("tokens", "done",
              {{"tokens", options_.tokens->entries().size()},
               {"removed_or_changed", names_missing(before->entries(), options_.tokens->entries())},
               {"added_or_changed", names_missing(options_.tokens->entries(), before->entries())}});
    }

    // An issuer changes its keys without telling us.
    void reload_changed_keys() {
        if (!jwt_keys_.has_changed()) return;
        reload("jwt_keys", "the keys of JWTs were not read again; the old ones stay", [this] {
            use(std::make_shared<const server::Tokens>(options_.tokens->entries(),
                                                       verifier_of(config_, log_)));
            audit("jwt_keys", "done", {{"keys", options_.tokens->jwt()->keys()}});
        });
    }

    // Under mutex_.
    void use(std::shared_ptr<const server::Tokens> tokens) {
        options_.tokens = std::move(tokens);
        if (server_ != nullptr) server_->use(options_.tokens);
    }

    void reload(std::string_view what, std::string_view failed, const std::function<void()>& read) {
        try {
            const std::lock_guard lock{mutex_};
            read();
        } catch (const std::exception& error) {
            log_.error(failed, {{"error", error.what()}});
            audit(what, "failed", {{"error", error.what()}});
        }
    }

    const CommandLine line_;
    Config config_;  // `jwt` is guarded by mutex_ once signals_ exists; the rest does not change
    std::mutex mutex_;
    Server* server_ = nullptr;  // guarded by mutex_; while it serves
    Log log_;
    const std::unique_ptr<server::Audit> audit_;
    // Read before the store is opened: a bad token file must not create a database. Guarded by
    // mutex_ once signals_ exists.
    server::ServerOptions options_;
    server::Metrics metrics_{std::string{version()}};
    server::BothObservers observers_{log_, metrics_};
    ChangedFile jwt_keys_;  // used by signals_ only
    SignalThread signals_;
    FreeMemory free_memory_;
    LockManager locks_;
};

}  // namespace

int serve(const CommandLine& line, Greeting greeting) {
    const EffectiveConfig config{line};
    protect_memory(config.values());
    block_signals();
    Serving serving{line, config};
    return serving.run(greeting);
}

}  // namespace leasehold::cli
