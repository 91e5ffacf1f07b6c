#include <leasehold/errors.hpp>
#include <leasehold/open_store.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <algorithm>
#include <expected>
#include <functional>

#include "cli/input.hpp"
#include "cli/output.hpp"
#include "core/enum_table.hpp"
#include "core/unique_owner.hpp"
#include "server/findings.hpp"
#include "server/http/site.hpp"
#include "server_url.hpp"
#include "stores/http/answers.hpp"
#include "stores/http/server_connection.hpp"
#include "wire/json.hpp"

namespace leasehold::cli {
namespace {

using namespace std::chrono_literals;

using server::Finding;
using server::Verdict;

constexpr EnumTable<Verdict, Colour> verdict_colours{{{Verdict::ok, Colour::green},
                                                      {Verdict::warning, Colour::yellow},
                                                      {Verdict::problem, Colour::red}}};

// Clocks further apart than this confuse people who compare times; no decision depends on them.
constexpr Duration tolerable_offset = 2s;
constexpr Duration tolerable_latency = 200ms;

std::string in_short(Duration time) {
    return time < 1ms ? "less than 1ms" : in_words(time);
}

// How far the examination has come.
enum class Opened : bool { no, yes };

class Doctor {
public:
    // Examines the permissions of this owner.
    Doctor(const Invocation& call, std::string owner)
        : call_{call}, url_{StoreUrl::parse(named_store(call), {})}, owner_{std::move(owner)} {}

    [[nodiscard]] const std::vector<Finding>& findings() const { return findings_; }

    void examine() {
        try {
            // Without a history: the lock that examine_permissions() takes must not stay in it.
            locks_ = std::make_unique<LockManager>(
                open_store(named_store(call_), {.history = StoreOptions::KeepHistory::off}));
            status_ = locks_->status();
        } catch (const StoreFault& fault) {
            return add({Verdict::problem, "store", fault.what(), advice_for(fault, Opened::no)});
        }
        examine_store();
        if (has_schema()) ask("schema", [this] { examine_schema(); });
        ask("clock", [this] { examine_clock(); });
        examine_durability();
        ask("permissions", [this] { examine_permissions(); });
        ask("history", [this] { examine_history(); });
        if (may_protect()) ask("protection", [this] { examine_protection(); });
        examine_secrets();
    }

private:
    [[nodiscard]] bool is_server() const { return url_.scheme == "http" || url_.scheme == "https"; }
    [[nodiscard]] bool may_protect() const { return has_schema() && url_.scheme != "etcd"; }
    [[nodiscard]] bool has_schema() const { return !is_server() && url_.scheme != "memory"; }

    void add(Finding finding) { findings_.push_back(std::move(finding)); }

    void ask(const char* about, const std::function<void()>& examination) {
        try {
            examination();
        } catch (const StoreFault& fault) {
            add({Verdict::problem, about, fault.what(), advice_for(fault, Opened::yes)});
        }
    }

    [[nodiscard]] std::string advice_for(const StoreFault& fault, Opened opened) const {
        switch (fault.cause()) {
            case StoreFault::Cause::configuration:
                return "change the setting that the message names";
            case StoreFault::Cause::not_allowed:
                return "the server's token file says what a token may do; for a token that speaks "
                       "for one owner, name the owner: doctor --owner OWNER" +
                       advice_on_access(call_);
            case StoreFault::Cause::clock_leap:
                return "find out who set the store's clock; see docs/clock.md";
            case StoreFault::Cause::unavailable:
                if (url_.scheme == "sqlite") {
                    return "is it the right file, may this user write to it and to its folder, and "
                           "is there room on the disk?";
                }
                if (url_.scheme == "etcd") {
                    return "is it running, and is the URL right? `etcdctl alarm list` shows alarms";
                }
                if (opened == Opened::no) return "is it running, and is the URL right?";
                break;
            case StoreFault::Cause::internal:
            case StoreFault::Cause::lock_id_in_use:
            case StoreFault::Cause::too_large: break;
        }
        return "see the store's own log";
    }

    void examine_store() {
        add({Verdict::ok, "store", status_.name + " answers"});
        // The warnings of a store that is not durable are the reasons for that.
        if (status_.durability != Durability::strong) return;
        for (const std::string& warning : status_.warnings) {
            add({Verdict::warning, "store", warning, "see the store's own log"});
        }
    }

    // Opening the store has compared the version. Reading finds what has gone missing since.
    void examine_schema() {
        (void)locks_->list({.limit = 1});
        (void)locks_->holders(probe_);
        (void)locks_->history({.limit = 1});
        const std::string parts = url_.scheme == "etcd" ? "keys" : "tables";
        add({Verdict::ok, "schema",
             "all " + parts + " are there, in a version that this program knows"});
    }

    void examine_history() {
        try {
            (void)locks_->history({.limit = 1});
            add({Verdict::ok, "history", "ended leases can be read"});
        } catch (const StoreFault& fault) {
            if (fault.cause() != StoreFault::Cause::not_allowed) throw;
            add({Verdict::warning, "history", fault.what(),
                 "a program that only takes locks does not need it; the role `see` is for lists, "
                 "history and events"});
        }
    }

    void examine_protection() {
        const auto protection = open_protection(named_store(call_));
        const std::size_t tables = protection->tables().size();
        const std::vector<ProtectionProblem> problems = protection->problems();
        for (const ProtectionProblem& problem : problems) {
            add({Verdict::problem, "protection", problem.table + ": " + problem.text,
                 problem.advice});
        }
        for (const ProtectionProblem& warning : protection->warnings()) {
            add({Verdict::warning, "protection", warning.table + ": " + warning.text,
                 "docs/protect.md says what is not judged"});
        }
        if (tables == 0 || !problems.empty()) return;
        add({Verdict::ok, "protection",
             tables == 1 ? "1 table is protected"
                         : std::to_string(tables) + " tables are protected"});
    }

    // Every answer carries the store's time: that to a list, or, for a token that may take locks
    // but not see them, the refusal of a try.
    [[nodiscard]] Time store_time() {
        if (may_list_) {
            try {
                return locks_->list({.limit = 1}).store_now;
            } catch (const StoreFault& fault) {
                if (fault.cause() != StoreFault::Cause::not_allowed) throw;
                may_list_ = false;
            }
        }
        const auto tried = try_in_vain();
        return tried ? tried->store_now : tried.error().store_now;
    }

    void examine_clock() {
        (void)store_time();  // connects, so that the next call measures an answer only
        const auto asked = std::chrono::system_clock::now();
        const auto asked_at = SteadyClock::now();
        const Time store = store_time();
        const Duration took = SteadyClock::now() - asked_at;
        const Duration offset = store - std::chrono::time_point_cast<Duration>(asked + took / 2);
        const Duration apart = std::chrono::abs(offset);
        const std::string text = in_short(apart) + " apart from this host's" +
                                 (apart < tolerable_offset    ? ""
                                  : offset > Duration::zero() ? ", ahead of it"
                                                              : ", behind it");
        if (apart > tolerable_offset) {
            add({Verdict::warning, "clock", "the store's clock is " + text,
                 "run a time service on both; leases go by the store's clock alone, but people "
                 "compare the times they see"});
        } else {
            add({Verdict::ok, "clock", "the store's clock is " + text});
        }
        if (took > tolerable_latency) {
            add({Verdict::warning, "latency", "an answer takes " + in_short(took),
                 "choose a ttl of many times that"});
        } else {
            add({Verdict::ok, "latency", "an answer takes " + in_short(took)});
        }
    }

    void examine_durability() {
        switch (status_.durability) {
            case Durability::strong:
                return add({Verdict::ok, "durability", "answered means durable"});
            case Durability::none:
                return add({Verdict::warning, "durability",
                            "leases are in memory and end with the process",
                            "use sqlite:, postgres:, mysql:, mariadb: or etcd: for anything that "
                            "matters"});
            case Durability::weak: break;
        }
        std::string reasons;
        for (const std::string& warning : status_.warnings) {
            reasons.append(reasons.empty() ? "" : "; ").append(warning);
        }
        add({Verdict::warning, "durability", "a crash can lose answered changes: " + reasons,
             "change that setting, or accept that two may hold a lock after a crash"});
    }

    void examine_permissions() {
        if (is_server() && may_ask())
            add({Verdict::ok, "permissions",
                 "the server lets " + owner_ + " take, renew and release locks"});
        else if (!is_server() && can_lock())
            add({Verdict::ok, "permissions", "a lock can be taken, renewed and released"});
        else
            add({Verdict::problem, "permissions", "the store refused a lock that nobody holds",
                 "this should not happen; see the store's own log"});
    }

    [[nodiscard]] bool can_lock() {
        const auto lease = locks_->try_lock(probe_, {.owner = owner_, .ttl = 10s});
        return lease && locks_->renew(probe_, lease->lock_id, 10s) &&
               locks_->release(probe_, lease->lock_id);
    }

    // Is refused, because nobody ever held the key, and leaves nothing behind.
    [[nodiscard]] std::expected<Lease, Refusal> try_in_vain() {
        return locks_->try_lock(probe_, {.owner = owner_, .ttl = 10s, .since = 1});
    }

    // On a server a granted lock would stay in the history, so ask about a lease that does not
    // exist: the server checks the same rights and stores nothing.
    [[nodiscard]] bool may_ask() {
        const auto never_was = [](const auto& answer) {
            return !answer && answer.error().reason == Gone::unknown;
        };
        const LockId lock_id = LockId::random();
        return never_was(try_in_vain()) && never_was(locks_->renew(probe_, lock_id, 10s)) &&
               never_was(locks_->release(probe_, lock_id));
    }

    void examine_secrets() {
        for (const NamedFile& file : secret_files_of(url_)) examine_file(file);
        if (url_.scheme == "sqlite") return;
        if (call_.store.empty() || url_.is_bare()) return;
        if (url_.password().empty() && url_.parameter("password").empty()) return;
        add({Verdict::warning, "secrets", "the URL on the command line holds a password",
             "put the URL into LEASEHOLD_STORE: everybody on this host can see command lines"});
    }

    void examine_file(const NamedFile& file) {
        if (file.path.empty()) return;
        const auto found = exposures_of(file);
        for (const Exposure& exposure : found) {
            add({Verdict::warning, "secrets", exposure.text + ": " + exposure.path,
                 exposure.advice});
        }
        if (found.empty()) {
            add({Verdict::ok, "secrets", "only its owner and its group can reach " + file.what});
        }
    }

    const Invocation& call_;
    const StoreUrl url_;
    const std::string owner_;
    const LockKey probe_{"leasehold-doctor", unique_owner(owner_, "probe")};
    std::unique_ptr<LockManager> locks_;
    StoreStatus status_;
    bool may_list_ = true;
    std::vector<Finding> findings_;
};

constexpr Duration server_timeout = 10s;

Finding finding_from(const boost::json::value& value) {
    wire::Fields fields{value, "a finding"};
    const auto verdict = server::verdict_names.find(fields.text("verdict"));
    return {.verdict = verdict.value_or(Verdict::problem),
            .about = fields.text("about"),
            .text = fields.text("text"),
            .advice = fields.text("advice")};
}

// What a server tells an administrator about itself, and what can be seen from here.
std::vector<Finding> examine_server(const std::string& text) {
    const StoreUrl url = StoreUrl::parse(text, {});
    if (url.scheme != "http" && url.scheme != "https") {
        throw BadRequest{"--server takes the URL of a server: http://HOST:PORT or https://HOST"};
    }
    std::vector<Finding> findings;
    if (url.scheme == "http" && !server::is_loopback(url.host())) {
        findings.push_back({Verdict::problem, "tls",
                            "your token travels to this server without TLS",
                            "use https://, and a server with a certificate"});
    }
    try {
        http::ServerConnection connection{server_at(url), server_timeout};
        const http::Response response =
            connection.wait_for({.method = net::Method::get, .path = "/v1/server"}, {}, {});
        const boost::json::value answer =
            http::understood(connection.server(), response, StoreFault::Effect::none);
        wire::Fields fields{answer, "the answer"};
        const boost::json::value& list = fields.required("findings");
        if (!list.is_array()) fields.refuse("findings", "must be an array");
        for (const boost::json::value& one : list.get_array()) {
            findings.push_back(finding_from(one));
        }
    } catch (const StoreFault& fault) {
        findings.push_back({Verdict::problem, "server", fault.what(),
                            "is it running, is the URL right, and does your token have the role "
                            "break?"});
    } catch (const BadRequest& bad) {
        findings.push_back({Verdict::problem, "server",
                            std::string{"the answer cannot be understood: "} + bad.what(),
                            "is it a Leasehold server of this version?"});
    }
    for (const NamedFile& file : secret_files_of(url)) {
        for (const Exposure& exposure : exposures_of(file)) {
            findings.push_back({Verdict::warning, "secrets", exposure.text + ": " + exposure.path,
                                exposure.advice});
        }
    }
    return findings;
}

void print_findings(const std::vector<Finding>& findings) {
    for (const Finding& finding : findings) {
        constexpr std::size_t about_width = 13;
        const std::string word{server::verdict_names[finding.verdict]};
        const std::size_t gap = about_width - std::min(finding.about.size(), about_width - 1);
        say({{word, verdict_colours[finding.verdict]},
             {std::string(9 - word.size(), ' ') + finding.about + std::string(gap, ' ') +
              finding.text}});
        if (!finding.advice.empty()) {
            say({{std::string(22, ' ')}, {"→ " + finding.advice, Colour::dim}});
        }
    }
}

void print_as_json(const std::vector<Finding>& findings) {
    boost::json::array list;
    for (const Finding& finding : findings) {
        boost::json::object one;
        one["verdict"] = server::verdict_names[finding.verdict];
        one["about"] = finding.about;
        one["text"] = finding.text;
        one["advice"] = finding.advice;
        list.emplace_back(std::move(one));
    }
    print_json(boost::json::object{{"findings", std::move(list)}});
}

}  // namespace

void add_doctor(CLI::App& app, Invocation& call) {
    Subcommand command{app, "doctor", "Check schema, clock, durability and permissions",
                       "  leasehold doctor\n"
                       "  leasehold doctor --store postgres://app@db/shop --json\n"
                       "  leasehold doctor --server https://locks.example"};
    const auto owner = std::make_shared<std::string>();
    const auto server = std::make_shared<std::string>();
    command.text("--owner", "OWNER", *owner, "the owner to check permissions for (USER@HOST)")
        .text("--server", "URL", *server,
              "tell what is open in a server's installation; needs a token with the role break")
        .store(call)
        .json(call);
    command.does(call, [&call, owner, server] {
        std::vector<Finding> findings;
        if (server->empty()) {
            Doctor doctor{call, owner_from(call, *owner)};
            doctor.examine();
            findings = doctor.findings();
        } else {
            findings = examine_server(*server);
        }
        if (call.json)
            print_as_json(findings);
        else
            print_findings(findings);
        const bool problem = std::ranges::any_of(
            findings, [](const Finding& f) { return f.verdict == Verdict::problem; });
        return static_cast<int>(problem ? refused : done);
    });
}

}  // namespace leasehold::cli
