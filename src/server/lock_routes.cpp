#include <boost/json/array.hpp>

#include <string>
#include <utility>

#include "server/bodies.hpp"
#include "server/observer.hpp"
#include "server/service.hpp"
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

void refuse_token(const HttpRequest& request) {
    if (request.lock_token) throw BadRequest{"this request takes no Lock-Token"};
}

// What the URL says must not be said again in the body.
Request read(json::object&& fields, std::string_view op, const LockKey& key,
             const LockManager& locks, std::optional<LockId> lock_id = {}) {
    for (const std::string_view name : {"op", "type", "id", "lock_id"}) {
        if (fields.contains(name)) {
            throw BadRequest{"the body: \"" + std::string{name} + "\" is not known here"};
        }
    }
    fields["op"] = op;
    fields["type"] = key.type();
    fields["id"] = key.id();
    if (lock_id) fields["lock_id"] = lock_id->to_string();
    put_default_ttl(fields, locks.limits());
    return wire::request_from(std::move(fields));
}

// How long to wait for the key.
Duration take_patience(json::object& fields, const ServerOptions& options) {
    const auto patience = wire::Fields{fields, "the body"}.optional_duration("wait_ms");
    fields.erase("wait_ms");
    if (!patience) return Duration::zero();
    if (*patience < Duration::zero() || *patience > options.longest_wait) {
        throw BadRequest{"the body: \"wait_ms\" must be at least 0 and at most " +
                         std::to_string(options.longest_wait.count())};
    }
    return *patience;
}

// How long to wait before it is released.
std::chrono::milliseconds take_delay(const Query& query, const ServerOptions& options) {
    query.refuse_all_but({"after_ms"});
    const std::chrono::milliseconds delay{query.integer("after_ms").value_or(0)};
    if (delay < delay.zero() || delay > options.longest_parting) {
        throw BadRequest{"\"after_ms\" must be at least 0 and at most " +
                         std::to_string(options.longest_parting.count())};
    }
    return delay;
}

// A lease, or why there is none.
Reply reply_of(const Outcome& outcome, unsigned status = 200) {
    if (const auto* lease = std::get_if<Lease>(&outcome)) {
        return json_reply(status, wire::to_json(*lease));
    }
    if (const auto* refusal = std::get_if<Refusal>(&outcome)) return problem(*refusal);
    if (const auto* fault = std::get_if<StoreFault>(&outcome)) return problem(*fault);
    return json_reply(status, wire::to_json(outcome));
}

}  // namespace

Task<Reply> Service::try_lock(const HttpRequest& request, const Target& target,
                              Connection& connection) {
    // Who asks may have drawn the lock id, to be able to ask again after an unknown effect.
    std::optional<LockId> lock_id;
    if (request.lock_token) lock_id = lock_id_of(request);
    json::object fields = optional_fields(request);
    const Duration patience = take_patience(fields, options_);
    Request wanted = read(std::move(fields), "try", target.key(), locks_, lock_id);
    if (patience == Duration::zero()) {
        const Outcome outcome = co_await door_.ask(std::move(wanted));
        co_return reply_of(outcome, 201);
    }
    locks_.validate(wanted);
    const Outcome outcome =
        co_await room_.wait(std::get<TryLock>(std::move(wanted)), patience, connection);
    options_.observer->answered(wanted, outcome);
    Reply reply = reply_of(outcome, 201);
    reply.waited = true;
    if (const auto* lease = std::get_if<Lease>(&outcome)) {
        reply.if_unsent = [this, granted = *lease] { room_.give_back(granted); };
    }
    co_return reply;
}

Task<Reply> Service::look(const HttpRequest& request, const Target& target) {
    Request question = Holders{target.key()};
    if (request.lock_token) question = Check{target.key(), lock_id_of(request)};
    const Outcome outcome = co_await door_.ask(std::move(question));
    if (!std::holds_alternative<std::vector<Holder>>(outcome)) co_return reply_of(outcome);
    const LockKey key = target.key();
    const std::vector<std::string> waiting = co_await room_.line_for(key);
    json::object body = wire::to_json(outcome);
    body["waiting"] = json::array(waiting.begin(), waiting.end());
    co_return json_reply(200, body);
}

Task<Reply> Service::prolong(const HttpRequest& request, const Target& target) {
    const LockId lock_id = lock_id_of(request);
    json::object fields = optional_fields(request);
    if (fields.contains("extend_ms") == fields.contains("ttl_ms")) {
        throw BadRequest{R"(the body has either "extend_ms" or "ttl_ms")"};
    }
    const std::string_view op = fields.contains("extend_ms") ? "extend" : "renew";
    Request wanted = read(std::move(fields), op, target.key(), locks_, lock_id);
    const Outcome outcome = co_await door_.ask(std::move(wanted));
    co_return reply_of(outcome);
}

Task<Reply> Service::release(const HttpRequest& request, const Target& target) {
    const auto delay = take_delay(target.query, options_);
    Request wanted = Release{target.key(), lock_id_of(request)};
    if (delay > delay.zero()) wanted = Check{target.key(), lock_id_of(request)};
    const Outcome outcome = co_await door_.ask(std::move(wanted));
    if (const auto* lease = std::get_if<Lease>(&outcome);
        lease != nullptr && delay > delay.zero()) {
        partings_.end_later(*lease, delay);
        co_return json_reply(202, wire::to_json(outcome));
    }
    const auto* refusal = std::get_if<Refusal>(&outcome);
    const bool ended = std::holds_alternative<Lease>(outcome) ||
                       (refusal != nullptr && refusal->kind == Refusal::Kind::gone);
    // What it was, whether it ended now or before.
    if (ended) co_return json_reply(200, wire::to_json(outcome));
    co_return reply_of(outcome);
}

Task<Reply> Service::break_lock(const HttpRequest& request, const Target& target) {
    refuse_token(request);
    Request wanted = read(optional_fields(request), "break", target.key(), locks_);
    const Outcome outcome = co_await door_.ask(std::move(wanted));
    co_return reply_of(outcome);
}

Task<Reply> Service::list(const Target& target) {
    target.query.refuse_all_but({"type", "owner", "scope", "after", "limit"});
    List wanted{.type = target.query.text("type"),
                .owner = target.query.text("owner"),
                .scope = target.query.scope()};
    if (const auto after = target.query.text("after")) wanted.after = holder_at(*after);
    wanted.limit = target.query.limit(wanted.limit);
    const std::size_t page = wanted.limit;

    Request question = std::move(wanted);
    const Outcome outcome = co_await door_.ask(std::move(question));
    const auto* holders = std::get_if<std::vector<Holder>>(&outcome);
    if (holders == nullptr) co_return reply_of(outcome);
    json::array locks;
    for (const Holder& holder : *holders) locks.emplace_back(wire::to_json(holder));
    json::object body;
    body["locks"] = std::move(locks);
    body["next"] = nullptr;
    if (holders->size() == page) body["next"] = cursor_of(holders->back());
    co_return json_reply(200, body);
}

Task<Reply> Service::release_all(const Target& target) {
    target.query.refuse_all_but({"scope"});
    Request wanted = ReleaseAll{.owner = target.names.at(0), .scope = target.query.scope()};
    Outcome outcome = co_await door_.ask(std::move(wanted));
    if (auto* leases = std::get_if<std::vector<Lease>>(&outcome)) {
        // Whoever ends them all need not be the one who held them.
        for (Lease& lease : *leases) lease.lock_id = {};
    }
    co_return reply_of(outcome);
}

Task<Reply> Service::history(const Target& target) {
    target.query.refuse_all_but({"type", "id", "before", "limit"});
    const auto type = target.query.text("type");
    const auto id = target.query.text("id");
    if (type.has_value() != id.has_value()) {
        throw BadRequest{R"("type" and "id" name a key only together)"};
    }
    History wanted{.before = target.query.integer("before")};
    if (type) wanted.key = LockKey{*type, *id};
    wanted.limit = target.query.limit(wanted.limit);
    const std::size_t page = wanted.limit;

    Request question = std::move(wanted);
    const Outcome outcome = co_await door_.ask(std::move(question));
    const auto* past = std::get_if<std::vector<PastLease>>(&outcome);
    if (past == nullptr) co_return reply_of(outcome);
    json::object body = wire::to_json(outcome);
    body["next"] = nullptr;
    if (past->size() == page) body["next"] = past->back().sequence;
    co_return json_reply(200, body);
}

}  // namespace leasehold::server
