#include <leasehold/errors.hpp>
#include <leasehold/open_store.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <algorithm>
#include <array>
#include <expected>
#include <functional>

#include "cli/input.hpp"
#include "cli/output.hpp"
#include "core/enum_table.hpp"
#include "server_url.hpp"

namespace leasehold::cli {
namespace {

using namespace std::chrono_literals;

enum class Verdict : std::uint8_t { ok, warning, problem };

struct Finding {
    Verdict verdict;
    std::string about;
    std::string text;
    std::string advice{};
};

struct Look {
    std::string_view name;
    Colour colour;
};
constexpr EnumTable<Verdict, Look> looks{{{Verdict::ok, {"ok", Colour::green}},
                                          {Verdict::warning, {"warning", Colour::yellow}},
                                          {Verdict::problem, {"problem", Colour::red}}}};

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
    // The permissions are those of this owner.
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
        if (has_tables()) ask("schema", [this] { examine_schema(); });
        ask("clock", [this] { examine_clock(); });
        examine_durability();
        ask("permissions", [this] { examine_permissions(); });
        ask("history", [this] { examine_history(); });
        examine_secrets();
    }

private:
    [[nodiscard]] bool is_server() const { return url_.scheme == "http" || url_.scheme == "https"; }
    [[nodiscard]] bool has_tables() const { return !is_server() && url_.scheme != "memory"; }

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
            default: break;
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
        add({Verdict::ok, "schema", "all tables are there, in a version that this program knows"});
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
                            "use sqlite:, postgres:, mariadb: or etcd: for anything that matters"});
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

    // A server would keep a granted lock in its history. Requests about a lease that never was are
    // checked in the same way, and leave nothing behind.
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

void print_findings(const std::vector<Finding>& findings) {
    for (const Finding& finding : findings) {
        const auto& [name, colour] = looks[finding.verdict];
        const std::string word{name};
        say({{word, colour},
             {std::string(9 - word.size(), ' ') + finding.about +
              std::string(13 - finding.about.size(), ' ') + finding.text}});
        if (!finding.advice.empty()) {
            say({{std::string(22, ' ')}, {"→ " + finding.advice, Colour::dim}});
        }
    }
}

void print_as_json(const std::vector<Finding>& findings) {
    boost::json::array list;
    for (const Finding& finding : findings) {
        boost::json::object one;
        one["verdict"] = looks[finding.verdict].name;
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
                       "  leasehold doctor --store postgres://app@db/shop --json"};
    const auto owner = std::make_shared<std::string>();
    command.text("--owner", "OWNER", *owner, "the owner to check permissions for (USER@HOST)")
        .store(call)
        .json(call);
    command.does(call, [&call, owner] {
        Doctor doctor{call, owner_from(call, *owner)};
        doctor.examine();
        if (call.json)
            print_as_json(doctor.findings());
        else
            print_findings(doctor.findings());
        const bool problem = std::ranges::any_of(
            doctor.findings(), [](const Finding& f) { return f.verdict == Verdict::problem; });
        return static_cast<int>(problem ? refused : done);
    });
}

}  // namespace leasehold::cli
