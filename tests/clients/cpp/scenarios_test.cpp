// clients/scenarios.json, executed by the http store: what every client does, against a real server
// behind a gate.
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <semaphore>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <variant>

#include <leasehold/lock_manager.hpp>
#include <leasehold/request.hpp>
#include <leasehold/stores/http.hpp>

#include "clients/cpp/host.hpp"
#include "stores/http/answers.hpp"
#include "stores/http/knock.hpp"
#include "stores/http/server_connection.hpp"

namespace leasehold::testing {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

constexpr std::chrono::milliseconds patience = 60s;  // longer than anything takes on a slow machine

// Values that the C++ types cannot hold.
const std::set<std::string, std::less<>> left_out{"knocks", "retry_after_ms"};

class Mismatch : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// `$name`: a lock id that is drawn at its first use in a request, or what an answer had at the
// first use there.
class Variables {
public:
    Variables() = default;
    Variables(const Variables& other) : values_{other.copied()} {}
    Variables& operator=(const Variables&) = delete;

    json::value filled(const json::value& value) {
        if (!is_name(value)) return value;
        const std::lock_guard lock{mutex_};
        return values_.try_emplace(value.as_string(), LockId::random().to_string()).first->second;
    }
    json::value expected(const json::value& value, const json::value& actual) {
        if (!is_name(value)) return value;
        const std::lock_guard lock{mutex_};
        return values_.try_emplace(value.as_string(), actual).first->second;
    }

private:
    static bool is_name(const json::value& value) {
        return value.is_string() && value.as_string().starts_with('$');
    }
    std::map<json::string, json::value> copied() const {
        const std::lock_guard lock{mutex_};
        return values_;
    }

    mutable std::mutex mutex_;
    std::map<json::string, json::value> values_;  // guarded by mutex_
};

[[noreturn]] void fail(const std::string& where, const json::value& actual,
                       const json::value& expected) {
    throw Mismatch{where + " is " + json::serialize(actual) + ", not " + json::serialize(expected)};
}

// Throws Mismatch.
void compare(const json::value& wanted, const json::value& actual, Variables& variables,
             const std::string& where) {
    const json::value expected = variables.expected(wanted, actual);
    if (expected.is_array()) {
        if (!actual.is_array() || actual.as_array().size() != expected.as_array().size()) {
            fail(where, actual, expected);
        }
        for (std::size_t i = 0; i < expected.as_array().size(); ++i) {
            compare(expected.as_array()[i], actual.as_array()[i], variables,
                    where + "[" + std::to_string(i) + "]");
        }
    } else if (expected.is_object()) {
        for (const auto& [name, value] : expected.as_object()) {
            bool holds = true;
            if (name == "at_least") {
                holds = actual.as_int64() >= value.as_int64();
            } else if (name == "at_most") {
                holds = actual.as_int64() <= value.as_int64();
            } else if (name == "greater_than") {
                holds = actual.as_int64() > variables.filled(value).as_int64();
            } else if (name == "one_of") {
                holds = std::ranges::find(value.as_array(), actual) != value.as_array().end();
            } else if (left_out.contains(std::string_view{name})) {
                continue;
            } else if (!actual.is_object() || !actual.as_object().contains(name)) {
                fail(where, actual, expected);
            } else {
                compare(value, actual.at(name), variables, where + "." + std::string{name});
            }
            if (!holds) fail(where, actual, expected);
        }
    } else if (actual != expected) {
        fail(where, actual, expected);
    }
}

// Answers in the words of the scenarios

template <class T>
json::object public_part(const T& lease) {
    return {{"type", lease.key.type()},      {"id", lease.key.id()}, {"owner", lease.owner},
            {"mode", to_string(lease.mode)}, {"fence", lease.fence}, {"note", lease.note}};
}

json::object plain(const Holder& holder) {
    return public_part(holder);
}

json::object plain(const PastLease& past) {
    json::object out = public_part(past.lease);
    out["how"] = to_string(past.how);
    out["by"] = past.by;
    out["why"] = past.why;
    return out;
}

json::object plain(const Lease& lease) {
    json::object out = public_part(lease);
    out["lock_id"] = lease.lock_id.to_string();
    const auto left = lease.valid_until - SteadyClock::now();
    out["valid_for_ms"] = std::chrono::duration_cast<std::chrono::milliseconds>(left).count();
    return out;
}

template <class Rows>
json::array each(const Rows& rows) {
    json::array out;
    for (const auto& row : rows) out.push_back(plain(row));
    return out;
}

json::value refused(const Refusal& refusal) {
    json::object out{{"code", to_string(refusal.kind)}};
    if (refusal.kind == Refusal::Kind::held) {
        out["holders"] = each(refusal.holders);
        out["holders_in_all"] = refusal.holders_in_all;
    } else if (refusal.kind == Refusal::Kind::gone) {
        out["reason"] = to_string(refusal.reason);
        out["by"] = refusal.by;
        out["why"] = refusal.why;
    }
    return {{"refused", out}};
}

json::value faulty(const StoreFault& fault) {
    const auto cause = fault.cause();
    const bool passing = cause == StoreFault::Cause::unavailable ||
                         cause == StoreFault::Cause::clock_leap ||
                         cause == StoreFault::Cause::internal;
    const bool none = fault.effect() == StoreFault::Effect::none;
    return {{"fault", {{"effect", none ? "none" : "unknown"}, {"passing", passing}}}};
}

template <class T>
json::value answered(const char* name, const Result<T>& result) {
    if (!result) return refused(result.error());
    if constexpr (std::is_same_v<T, Lease>) {
        return {{name, plain(*result)}};
    } else {
        return {{name, each(*result)}};
    }
}

json::value answered(const Outcome& outcome, SteadyClock::time_point asked_at) {
    if (const auto* refusal = std::get_if<Refusal>(&outcome)) return refused(*refusal);
    if (const auto* fault = std::get_if<StoreFault>(&outcome)) return faulty(*fault);
    if (const auto* page = std::get_if<HolderPage>(&outcome)) return {{"holders", each(*page)}};
    Lease lease = std::get<Lease>(outcome);
    lease.valid_until = asked_at + lease.remaining().value();
    return {{"lease", plain(lease)}};
}

// Requests

std::string text(const json::object& step, std::string_view name, std::string otherwise = {}) {
    const json::value* value = step.if_contains(name);
    return value == nullptr ? otherwise : std::string{value->as_string()};
}

LockKey key_of(const json::value& names) {
    return {std::string_view{names.as_array()[0].as_string()},
            std::string_view{names.as_array()[1].as_string()}};
}

std::chrono::milliseconds duration(const json::object& step, std::string_view name) {
    return std::chrono::milliseconds{step.at(name).as_int64()};
}

OwnerScope scope(const json::object& step) {
    return text(step, "scope") == "below" ? OwnerScope::below : OwnerScope::exact;
}

// One client: a manager on an http store.
class Client {
public:
    Client(std::uint16_t port, Duration timeout)
        : address_{.port = port},
          options_{.io_timeout = timeout},
          locks_{http::open(address_, options_)} {}

    // One request, once, and its answer in the words of the scenarios.
    json::value ask(const json::object& step, Variables& variables) {
        try {
            return answer(step, variables);
        } catch (const StoreFault& fault) {
            return faulty(fault);
        } catch (const BadRequest& bad) {
            return faulty({StoreFault::Effect::none, StoreFault::Cause::configuration, bad.what()});
        }
    }

private:
    json::value answer(const json::object& step, Variables& variables) {
        const std::string what = text(step, "do");
        if (what == "try" && step.contains("wait_ms")) {
            return answered("lease",
                            locks_.lock_for(key_of(step.at("key")), duration(step, "wait_ms"),
                                            terms(step, variables)));
        }
        if (what == "try") {
            return answered("lease",
                            locks_.try_lock(key_of(step.at("key")), terms(step, variables)));
        }
        if (what == "try_all") {
            std::vector<LockKey> keys;
            for (const json::value& key : step.at("keys").as_array()) keys.push_back(key_of(key));
            Result<std::vector<Lease>> leases = locks_.try_lock_all(keys, terms(step, variables));
            if (leases) {  // the scenarios name them in the order of the request
                std::ranges::sort(*leases, {}, [&](const Lease& lease) {
                    return std::ranges::find(keys, lease.key) - keys.begin();
                });
            }
            return answered("leases", leases);
        }
        if (what == "check") {
            return answered("lease",
                            locks_.check(key_of(step.at("key")), lock_id(step, variables)));
        }
        if (what == "renew") {
            return answered("lease", locks_.renew(key_of(step.at("key")), lock_id(step, variables),
                                                  duration(step, "ttl_ms")));
        }
        if (what == "extend") {
            return answered("lease", locks_.extend(key_of(step.at("key")), lock_id(step, variables),
                                                   duration(step, "by_ms")));
        }
        if (what == "release") {
            const auto ended = locks_.release(key_of(step.at("key")), lock_id(step, variables));
            return ended ? json::value{{"released", true}} : refused(ended.error());
        }
        if (what == "holders") return holders(key_of(step.at("key")));
        if (what == "knock") {
            const auto asked =
                http::knock(address_, options_.io_timeout, key_of(step.at("key")),
                            {.owner = text(step, "owner"), .message = text(step, "message")});
            return {{"holders", asked ? each(*asked) : json::array{}}};
        }
        if (what == "break") {
            return answered("ended",
                            locks_.break_lock(key_of(step.at("key")),
                                              variables.filled(step.at("fence")).as_int64(),
                                              text(step, "by"), text(step, "reason")));
        }
        if (what == "batch") return batch(step, variables);
        if (what == "list") return list(step);
        if (what == "history") return history(step);
        if (what == "release_all") {
            return answered("ended", locks_.release_all(text(step, "owner"), scope(step)));
        }
        throw std::runtime_error{"unknown step: " + json::serialize(step)};
    }

    // The store's answer, and who waits, which only the server knows.
    json::value holders(const LockKey& key) {
        const json::array rows = each(locks_.holders(key));
        http::ServerConnection connection{address_, options_.io_timeout};
        const auto response = connection.wait_for({.path = http::path_of(key)}, {}, {});
        const json::value said =
            http::understood(connection.server(), response, StoreFault::Effect::none);
        return {{"holders", rows}, {"waiting", said.at("waiting")}};
    }

    json::value list(const json::object& step) {
        List query{.scope = scope(step)};
        if (step.contains("owner")) query.owner = text(step, "owner");
        if (step.contains("limit")) query.limit = step.at("limit").to_number<std::size_t>();
        json::array rows;
        for (bool more = true; more;) {
            const HolderPage page = locks_.list(query);
            for (json::value& row : each(page)) rows.push_back(row);
            more = page.may_continue(query.limit);
            if (more) query.after = page.last();
        }
        return {{"holders", rows}};
    }

    json::value history(const json::object& step) {
        History query;
        if (step.contains("key")) query.key = key_of(step.at("key"));
        if (step.contains("limit")) query.limit = step.at("limit").to_number<std::size_t>();
        json::array rows;
        for (bool more = true; more;) {
            const HistoryPage page = locks_.history(query);
            for (json::value& row : each(page)) rows.push_back(row);
            more = page.may_continue(query.limit);
            if (more) query.before = page.last().sequence;
        }
        return {{"history", rows}};
    }

    json::value batch(const json::object& step, Variables& variables) {
        std::vector<Request> requests;
        for (const json::value& one : step.at("requests").as_array()) {
            requests.push_back(request(one.as_object(), variables));
        }
        std::vector<Outcome> outcomes(requests.size());
        const auto asked_at = SteadyClock::now();
        batches_->apply(requests, outcomes);
        json::array answers;
        for (const Outcome& outcome : outcomes) answers.push_back(answered(outcome, asked_at));
        return {{"answers", answers}};
    }

    Request request(const json::object& step, Variables& variables) {
        const std::string what = text(step, "do");
        const LockKey key = key_of(step.at("key"));
        if (what == "try") return try_request(key, terms(step, variables), locks_.limits());
        if (what == "holders") return Holders{key};
        const LockId id = lock_id(step, variables);
        if (what == "check") return Check{key, id};
        if (what == "renew") return Renew{key, id, duration(step, "ttl_ms")};
        if (what == "release") return Release{key, id};
        throw std::runtime_error{"unknown request: " + json::serialize(step)};
    }

    static LockId lock_id(const json::object& step, Variables& variables) {
        return LockId::parse(variables.filled(step.at("lock_id")).as_string()).value();
    }

    static LockOptions terms(const json::object& step, Variables& variables) {
        LockOptions options{.owner = text(step, "owner"), .note = text(step, "note")};
        if (text(step, "mode") == "shared") options.mode = Mode::shared;
        if (step.contains("places")) options.places = step.at("places").to_number<std::size_t>();
        if (step.contains("ttl_ms")) options.ttl = duration(step, "ttl_ms");
        if (step.contains("lock_id")) options.lock_id = lock_id(step, variables);
        return options;
    }

    const http::ServerAddress address_;
    const StoreOptions options_;
    LockManager locks_;
    std::unique_ptr<Store> batches_ = http::open(address_, options_);
};

// The clients of a scenario, by where they ask and how long they wait.
class Clients {
public:
    Clients(const Host& host, const json::array& steps) : host_{host}, steps_{steps} { open(); }

    json::value ask(const json::object& step, Variables& variables) {
        return clients_.at(name(step))->ask(step, variables);
    }

    // A client asks for the state of its server when it is made, and again after ten seconds, which
    // would take an answer of the gate that is meant for a step.
    void before_a_gate_control() {
        if (std::chrono::steady_clock::now() - opened_ > 3s) open();
    }

private:
    using Name = std::pair<std::uint16_t, std::int64_t>;

    Name name(const json::object& step) const {
        const json::value* timeout = step.if_contains("timeout_ms");
        return {text(step, "via") == "server" ? host_.server_port() : host_.gate_port(),
                timeout == nullptr ? patience.count() : timeout->as_int64()};
    }

    void open() {
        for (const json::value& step : steps_) {
            if (!step.as_object().contains("do")) continue;
            const Name which = name(step.as_object());
            clients_[which] =
                std::make_shared<Client>(which.first, std::chrono::milliseconds{which.second});
        }
        opened_ = std::chrono::steady_clock::now();
    }

    const Host& host_;
    const json::array& steps_;
    std::map<Name, std::shared_ptr<Client>> clients_;
    std::chrono::steady_clock::time_point opened_;
};

// Throws if the scenario fails.
void execute(const json::object& scenario) {
    const json::array& steps = scenario.at("steps").as_array();
    Host host{scenario.contains("server") ? scenario.at("server") : json::object{}};
    Variables variables;
    Clients clients{host, steps};
    std::map<std::string, std::future<json::value>> started;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const json::object& step = steps[i].as_object();
        const std::string where = "step " + std::to_string(i);
        if (step.contains("gate")) {
            clients.before_a_gate_control();
            host.gate(step.at("gate").as_array());
        } else if (step.contains("server")) {
            host.server(step.at("server").as_array());
        } else if (step.contains("pause_ms")) {
            std::this_thread::sleep_for(duration(step, "pause_ms"));
        } else if (step.contains("start")) {
            started[text(step, "start")] =
                std::async(std::launch::async, [&] { return clients.ask(step, variables); });
        } else if (step.contains("finish")) {
            auto answer = started.extract(text(step, "finish"));
            compare(step.at("expect"), answer.mapped().get(), variables, where);
        } else if (step.contains("until")) {
            const auto deadline = std::chrono::steady_clock::now() + patience;
            for (bool done = false; !done;) {
                try {
                    Variables tried{variables};
                    compare(step.at("expect"), clients.ask(step, variables), tried, where);
                    done = true;
                } catch (const Mismatch&) {
                    if (std::chrono::steady_clock::now() > deadline) throw;
                    std::this_thread::sleep_for(10ms);
                }
            }
        } else {
            compare(step.at("expect"), clients.ask(step, variables), variables, where);
        }
    }
    if (!started.empty()) throw std::runtime_error{"never finished: " + started.begin()->first};
}

json::array scenarios() {
    std::ifstream file{LEASEHOLD_SOURCE_DIR "/clients/scenarios.json"};
    const std::string all{std::istreambuf_iterator<char>{file}, {}};
    return json::parse(all).at("scenarios").as_array();
}

// A store tells no events.
bool has_events(const json::object& scenario) {
    for (const json::value& step : scenario.at("steps").as_array()) {
        if (step.as_object().contains("listen")) return true;
    }
    return false;
}

// The scenario's name as one of a test.
std::string test_name(std::string_view sentence) {
    std::string name;
    bool begins = true;
    for (const char letter : sentence) {
        if (std::isalnum(static_cast<unsigned char>(letter)) != 0) {
            name += begins ? static_cast<char>(std::toupper(letter)) : letter;
            begins = false;
        } else {
            begins = true;
        }
    }
    return name;
}

// Scenarios mostly wait: some of them run at the same time, each with a server of
// its own.
class SideBySide : public ::testing::Environment {
public:
    explicit SideBySide(std::map<std::string, json::object> scenarios)
        : scenarios_{std::move(scenarios)} {}

    void SetUp() override {
        const auto& suite = *::testing::UnitTest::GetInstance()->GetTestSuite(0);
        for (int i = 0; i < suite.total_test_count(); ++i) {
            const ::testing::TestInfo& test = *suite.GetTestInfo(i);
            if (test.should_run()) {
                running_[test.name()] = std::async(std::launch::async, &SideBySide::run, this,
                                                   std::cref(scenarios_.at(test.name())));
            }
        }
    }

    std::future<void>& running(const std::string& name) { return running_.at(name); }

private:
    void run(const json::object& scenario) {
        places_.acquire();
        const std::unique_ptr<void, std::function<void(void*)>> leave{
            this, [this](void*) { places_.release(); }};
        execute(scenario);
    }

    const std::map<std::string, json::object> scenarios_;
    std::counting_semaphore<> places_{8};
    std::map<std::string, std::future<void>> running_;
};

class Scenario : public ::testing::Test {
public:
    Scenario(SideBySide& side_by_side, std::string name)
        : side_by_side_{side_by_side}, name_{std::move(name)} {}
    void TestBody() override { EXPECT_NO_THROW(side_by_side_.running(name_).get()); }

private:
    SideBySide& side_by_side_;
    const std::string name_;
};

}  // namespace
}  // namespace leasehold::testing

int main(int argc, char** argv) {
    using namespace leasehold::testing;
    ::testing::InitGoogleTest(&argc, argv);
    std::map<std::string, boost::json::object> mine;
    for (const boost::json::value& one : scenarios()) {
        const boost::json::object& scenario = one.as_object();
        if (!has_events(scenario)) mine[test_name(scenario.at("name").as_string())] = scenario;
    }
    auto* const side_by_side = new SideBySide{mine};  // GoogleTest deletes it
    for (const auto& [name, scenario] : mine) {
        ::testing::RegisterTest(
            "HttpStore", name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
            [=, name = name]() -> ::testing::Test* { return new Scenario{*side_by_side, name}; });
    }
    ::testing::AddGlobalTestEnvironment(side_by_side);
    return RUN_ALL_TESTS();
}
