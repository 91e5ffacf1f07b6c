#include <boost/json/array.hpp>
#include <boost/json/monotonic_resource.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "core/text.hpp"
#include "server/http/bodies.hpp"
#include "server/monitoring/observer.hpp"
#include "server/v1/service.hpp"
#include "wire/messages.hpp"

namespace leasehold::server {
namespace {

namespace json = boost::json;

LockId lock_id_of(const HttpRequest& request) {
    if (!request.lock_token) {
        throw BadRequest{"the Lock-Token field is missing: it carries the lock id"};
    }
    auto id = LockId::parse(*request.lock_token);
    if (!id) throw BadRequest{"Lock-Token: " + id.error()};
    return *id;
}

// How long to wait for the key.
Duration patience_in(wire::Fields& fields, const ServerOptions& options) {
    const auto patience = fields.optional_duration("wait_ms");
    if (!patience) return Duration::zero();
    if (*patience < Duration::zero() || *patience > options.longest_wait) {
        const auto longest = options.longest_wait.count();
        throw Refused{problem(
            400, "bad_request",
            "the body: \"wait_ms\" must be at least 0 and at most " + std::to_string(longest),
            {{"longest_wait_ms", longest}})};
    }
    return *patience;
}

// How long to wait before it is released.
std::chrono::milliseconds take_delay(const Query& query, const ServerOptions& options) {
    query.refuse_all_but({"after_ms"});
    const std::chrono::milliseconds delay{query.integer("after_ms").value_or(0)};
    if (delay.count() < 0 || delay > options.longest_delay) {
        throw BadRequest{"\"after_ms\" must be at least 0 and at most " +
                         std::to_string(options.longest_delay.count())};
    }
    return delay;
}

// How many pages of the store one request for leases that contain a text looks through.
constexpr std::size_t pages_searched = 20;

// Whether the text is somewhere in what everybody may see. ASCII letters match in either case.
bool mentions(const Holder& holder, std::string_view text) {
    if (text.empty()) return true;
    const auto in = [&](std::string_view whole) {
        return !std::ranges::search(whole, text, {}, lower_letter, lower_letter).empty();
    };
    return in(holder.key.id()) || in(holder.key.type()) || in(holder.owner) || in(holder.note) ||
           in(holder.key.to_string());
}

// The fields of a body. A small one is taken apart without asking for memory.
class Body {
public:
    explicit Body(HttpRequest& request) : object_{optional_fields(request, &resource_)} {}

    [[nodiscard]] wire::Fields& fields() noexcept { return fields_; }

private:
    std::array<unsigned char, 2048> space_;
    json::monotonic_resource resource_{space_.data(), space_.size()};
    const json::object object_;
    wire::Fields fields_{object_, "the body"};
};

struct Wish {
    Request request;
    Duration patience;
};

Wish read_try(HttpRequest& request, const Target& target, const LockManager& locks,
              const ServerOptions& options) {
    // Who asks may have drawn the lock id, to be able to ask again after an unknown effect.
    std::optional<LockId> lock_id;
    if (request.lock_token) lock_id = lock_id_of(request);
    Body body{request};
    const Duration patience = patience_in(body.fields(), options);
    TryLock wanted =
        wire::try_from(body.fields(), target.key(), lock_id, locks.limits().default_ttl);
    body.fields().refuse_others();
    return {std::move(wanted), patience};
}

Request read_prolonging(HttpRequest& request, const Target& target, const LockManager& locks) {
    const LockId lock_id = lock_id_of(request);
    Body body{request};
    wire::Fields& fields = body.fields();
    if (fields.has("extend_ms") == fields.has("ttl_ms")) {
        throw BadRequest{R"(the body has either "extend_ms" or "ttl_ms")"};
    }
    Request wanted =
        fields.has("extend_ms")
            ? Request{wire::extend_from(fields, target.key(), lock_id)}
            : wire::renew_from(fields, target.key(), lock_id, locks.limits().default_ttl);
    fields.refuse_others();
    return wanted;
}

Request read_break(HttpRequest& request, const Target& target) {
    Body body{request};
    Request wanted = wire::break_from(body.fields(), target.key());
    body.fields().refuse_others();
    return wanted;
}

template <class Answer>
Reply printed(unsigned status, const Answer& answer) {
    constexpr std::size_t usual_bytes = 512;
    Reply reply{.status = status};
    reply.body.reserve(usual_bytes);
    wire::print(reply.body, answer);
    return reply;
}

// A lease, or why there is none.
Reply reply_of(const Outcome& outcome, unsigned status = 200) {
    if (const auto* lease = std::get_if<Lease>(&outcome)) return printed(status, *lease);
    if (const auto* refusal = std::get_if<Refusal>(&outcome)) return problem(*refusal);
    if (const auto* fault = std::get_if<StoreFault>(&outcome)) return problem(*fault);
    return printed(status, outcome);
}

}  // namespace

Task<Reply> Service::try_lock(HttpRequest& request, const Target& target, Connection& connection) {
    Wish wish = read_try(request, target, locks_, options_);
    AccessControl::admit(request, wish.request);
    if (wish.patience == Duration::zero()) {
        const Outcome outcome = co_await store_.ask(std::move(wish.request));
        co_return reply_of(outcome, 201);
    }
    locks_.validate(wish.request);
    const Statistics::Waiting waiting{statistics_};
    auto asked = std::get<TryLock>(wish.request);
    std::function<bool()> welcome;
    if (request.token) {
        welcome = [this, &request, &wish] { return access_.admits(*request.token, wish.request); };
    }
    const Outcome outcome =
        co_await room_.wait(std::move(asked), wish.patience, connection, std::move(welcome));
    admit_after_wait(request, wish.request, outcome);
    options_.observer->answered(wish.request, outcome);
    statistics_.answered(wish.request, std::get<TryLock>(wish.request).owner, outcome);
    Reply reply = reply_of(outcome, 201);
    reply.waited = true;
    if (const auto* lease = std::get_if<Lease>(&outcome)) {
        delayed_releases_.came_back(lease->lock_id);
        reply.if_unsent = [this, wanted = std::get<TryLock>(wish.request), granted = *lease] {
            room_.give_back_unknown(wanted, granted);
        };
    }
    co_return reply;
}

void Service::admit_after_wait(HttpRequest& request, Request& wanted, const Outcome& outcome) {
    const auto* fault = std::get_if<StoreFault>(&outcome);
    if (fault != nullptr && fault->effect() == StoreFault::Effect::unknown) return;
    try {
        access_.admit_again(request, Need::use);
        AccessControl::admit(request, wanted);
    } catch (Refused& refused) {
        refused.reply.waited = true;
        const auto* lease = std::get_if<Lease>(&outcome);
        if (lease != nullptr) room_.give_back_unknown(std::get<TryLock>(wanted), *lease);
        throw;
    }
}

Reply Service::reply_to_holder(const Outcome& outcome) const {
    const auto* lease = std::get_if<Lease>(&outcome);
    if (lease == nullptr || knocks_.on(lease->key, lease->fence).empty()) return reply_of(outcome);
    json::object body = wire::to_json(*lease);
    put_knocks(body, *lease);
    return json_reply(200, body);
}

Task<Reply> Service::look(const HttpRequest& request, const Target& target) {
    const LockKey key = target.key();
    Request question = request.lock_token ? Request{Check{key, lock_id_of(request)}} : Holders{key};
    const Outcome outcome = co_await store_.ask(std::move(question));
    if (!std::holds_alternative<std::vector<Holder>>(outcome)) co_return reply_to_holder(outcome);
    const std::vector<std::string> waiting = co_await room_.line_for(key);
    json::object body = wire::to_json(outcome);
    body["waiting"] = json::array(waiting.begin(), waiting.end());
    co_return json_reply(200, body);
}

Task<Reply> Service::prolong(HttpRequest& request, const Target& target) {
    Request wanted = read_prolonging(request, target, locks_);
    const Outcome outcome = co_await store_.ask(std::move(wanted));
    co_return reply_to_holder(outcome);
}

Task<Reply> Service::release(const HttpRequest& request, const Target& target) {
    const auto delay = take_delay(target.query, options_);
    const bool parts = delay.count() > 0;
    const LockId lock_id = lock_id_of(request);
    Request wanted = Release{target.key(), lock_id};
    if (parts) {
        wanted = Check{target.key(), lock_id};
        delayed_releases_.announce(target.key(), lock_id);
    }
    const Outcome outcome = co_await store_.ask(std::move(wanted));
    if (const auto* lease = std::get_if<Lease>(&outcome); lease != nullptr && parts) {
        delayed_releases_.end_later(*lease, delay);
        co_return json_reply(202, wire::to_json(outcome));
    }
    const auto* refusal = std::get_if<Refusal>(&outcome);
    if (parts && refusal != nullptr) delayed_releases_.came_back(lock_id);
    const bool ended = std::holds_alternative<Lease>(outcome) ||
                       (refusal != nullptr && refusal->kind == Refusal::Kind::gone);
    // What it was, whether it ended now or before.
    if (ended) co_return printed(200, outcome);
    co_return reply_of(outcome);
}

Task<Reply> Service::break_lock(HttpRequest& request, const Target& target) {
    refuse_token(request);
    Request wanted = read_break(request, target);
    AccessControl::admit(request, wanted);
    const Outcome outcome = co_await store_.ask(std::move(wanted));
    co_return reply_of(outcome);
}

Task<Reply> Service::list(const Target& target) {
    target.query.refuse_all_but({"type", "owner", "scope", "contains", "after", "limit"});
    List wanted{.type = target.query.text("type"),
                .owner = target.query.text("owner"),
                .scope = target.query.scope()};
    if (const auto after = target.query.text("after")) wanted.after = holder_at(*after);
    wanted.limit = target.query.limit(wanted.limit);
    const std::size_t page = wanted.limit;
    const std::string contains = target.query.text("contains").value_or("");
    if (!contains.empty()) {
        locks_.validate(wanted);
        wanted.limit = locks_.limits().page_rows;
    }

    std::vector<Holder> found;
    bool more = true;
    for (std::size_t i = 0; i < pages_searched && more && found.size() < page; ++i) {
        Request question = wanted;
        Outcome outcome = co_await store_.ask(std::move(question));
        auto* holders = std::get_if<std::vector<Holder>>(&outcome);
        if (holders == nullptr) co_return reply_of(outcome);
        more = holders->size() == wanted.limit;
        for (Holder& holder : *holders) {
            if (found.size() == page) {
                more = true;
                break;
            }
            wanted.after = holder;
            if (mentions(holder, contains)) found.push_back(std::move(holder));
        }
    }
    json::object body;
    body["locks"] = co_await with_waiters(found);
    body["next"] = nullptr;
    if (more) body["next"] = cursor_of(*wanted.after);
    co_return json_reply(200, body);
}

Task<json::array> Service::with_waiters(const std::vector<Holder>& holders) {
    std::vector<LockKey> keys;
    keys.reserve(holders.size());
    for (const Holder& holder : holders) keys.push_back(holder.key);
    const std::vector<std::size_t> waiters = co_await room_.waiting_for(std::move(keys));
    json::array rows;
    rows.reserve(holders.size());
    for (std::size_t i = 0; i < holders.size(); ++i) {
        json::object row = wire::to_json(holders[i]);
        row["waiters"] = waiters[i];
        rows.emplace_back(std::move(row));
    }
    co_return rows;
}

Task<Reply> Service::release_all(const HttpRequest& request, const Target& target) {
    target.query.refuse_all_but({"scope"});
    Request wanted = ReleaseAll{.owner = target.names.at(0), .scope = target.query.scope()};
    AccessControl::admit(request, wanted);
    Outcome outcome = co_await store_.ask(std::move(wanted));
    if (auto* leases = std::get_if<std::vector<Lease>>(&outcome)) {
        // Whoever ends them all need not be the one who held them.
        for (Lease& lease : *leases) lease.lock_id = {};
    }
    co_return reply_of(outcome);
}

Task<Reply> Service::history(const Target& target) {
    target.query.refuse_all_but({"type", "id", "before", "limit"});
    History wanted{.key = target.query.key(), .before = target.query.integer("before")};
    wanted.limit = target.query.limit(wanted.limit);
    const std::size_t page = wanted.limit;

    Request question = std::move(wanted);
    const Outcome outcome = co_await store_.ask(std::move(question));
    const auto* past = std::get_if<std::vector<PastLease>>(&outcome);
    if (past == nullptr) co_return reply_of(outcome);
    json::object body = wire::to_json(outcome);
    body["next"] = nullptr;
    if (past->size() == page) body["next"] = past->back().sequence;
    co_return json_reply(200, body);
}

}  // namespace leasehold::server
