#include <boost/asio/post.hpp>
#include <boost/json/array.hpp>
#include <boost/json/monotonic_resource.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "core/sizes.hpp"
#include "server/http/bodies.hpp"
#include "server/v1/cursor.hpp"
#include "server/v1/lock_token.hpp"
#include "server/v1/native.hpp"
#include "server/v1/problems.hpp"
#include "server/v1/query.hpp"
#include "server/v1/search.hpp"
#include "wire/messages.hpp"

namespace leasehold::server::v1 {
namespace {

namespace json = boost::json;

// How long the client waits for the key.
Duration patience_in(wire::Fields& fields, const ServerOptions& options) {
    const auto patience = fields.optional_duration("wait_ms");
    if (!patience) return Duration::zero();
    if (*patience < Duration::zero() || *patience > options.longest_wait) {
        const auto longest = options.longest_wait.count();
        throw Refused{{.status = 400,
                       .code = "bad_request",
                       .detail = "the body: \"wait_ms\" must be at least 0 and at most " +
                                 std::to_string(longest),
                       .facts = {{"longest_wait_ms", longest}}}};
    }
    return *patience;
}

// How long the release is delayed.
std::chrono::milliseconds take_delay(const Query& query, const ServerOptions& options) {
    const std::chrono::milliseconds delay{query.integer("after_ms").value_or(0)};
    if (delay.count() < 0 || delay > options.longest_delay) {
        throw BadRequest{"\"after_ms\" must be at least 0 and at most " +
                         std::to_string(options.longest_delay.count())};
    }
    return delay;
}

// The number of the store's pages that one request reads, if few of their rows match.
constexpr std::size_t pages_searched = 20;

// The fields of a body. A small body is parsed without allocating memory.
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

struct TryWithPatience {
    TryLock request;
    Duration patience;
};

TryWithPatience read_try(RoutedRequest& request, const Limits& limits,
                         const ServerOptions& options) {
    // A client that drew the lock id itself can repeat the request after an unknown effect.
    std::optional<LockId> lock_id;
    if (has_lock_token(request.http)) lock_id = lock_id_in(request.http);
    Body body{request.http};
    const Duration patience = patience_in(body.fields(), options);
    TryLock wanted = wire::try_from(body.fields(), request.key(), lock_id, limits.default_ttl);
    body.fields().refuse_others();
    return {std::move(wanted), patience};
}

Request read_prolonging(RoutedRequest& request, const Limits& limits) {
    const LockId lock_id = lock_id_in(request.http);
    Body body{request.http};
    wire::Fields& fields = body.fields();
    if (fields.has("extend_ms") == fields.has("ttl_ms")) {
        throw BadRequest{R"(the body must have exactly one of "extend_ms" and "ttl_ms")"};
    }
    Request wanted = fields.has("extend_ms")
                         ? Request{wire::extend_from(fields, request.key(), lock_id)}
                         : wire::renew_from(fields, request.key(), lock_id, limits.default_ttl);
    fields.refuse_others();
    return wanted;
}

Request read_break(RoutedRequest& request) {
    Body body{request.http};
    Request wanted = wire::break_from(body.fields(), request.key());
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

// The reply with a lease, or with the reason why there is none.
Reply reply_of(const RoutedRequest& request, const Outcome& outcome, unsigned status = 200) {
    if (const auto* lease = std::get_if<Lease>(&outcome)) return printed(status, *lease);
    if (const auto* refusal = std::get_if<Refusal>(&outcome))
        return reply_to(*refusal, request.http.language());
    if (const auto* fault = std::get_if<StoreFault>(&outcome)) return reply_to(*fault);
    return printed(status, outcome);
}

}  // namespace

Task<Reply> Native::try_lock(RoutedRequest& request) {
    TryWithPatience asked = read_try(request, limits_, options_);
    if (asked.patience == Duration::zero()) {
        Request wanted = std::move(asked.request);
        const Outcome outcome = co_await backend_.ask(request, std::move(wanted));
        co_return reply_of(request, outcome, 201);
    }
    Backend::Waited waited =
        co_await backend_.wait(request, std::move(asked.request), asked.patience);
    Reply reply = reply_of(request, waited.outcome, 201);
    reply.if_unsent = std::move(waited.if_unsent);
    co_return reply;
}

Reply Native::reply_to_holder(const RoutedRequest& request, const Outcome& outcome) const {
    const auto* lease = std::get_if<Lease>(&outcome);
    if (lease == nullptr) return reply_of(request, outcome);
    const std::vector<Knock> knocks = backend_.knocks_on(*lease);
    if (knocks.empty()) return reply_of(request, outcome);
    json::object body = wire::to_json(*lease);
    std::size_t room = knocks_bytes;
    put_knocks(body, knocks, room);
    return json_reply(200, body);
}

Task<Reply> Native::check(RoutedRequest& request) {
    Request question = Check{request.key(), lock_id_in(request.http)};
    const Outcome outcome = co_await backend_.ask(request, std::move(question));
    co_return reply_to_holder(request, outcome);
}

Task<Reply> Native::show_holders(RoutedRequest& request) {
    const LockKey key = request.key();
    backend_.reserve_answer(request, Limits::page_bytes);
    Request question = Holders{key};
    const Outcome outcome = co_await backend_.ask(request, std::move(question));
    if (!std::holds_alternative<HolderPage>(outcome)) co_return reply_of(request, outcome);
    const std::vector<std::string> waiting = co_await backend_.waiting_owners(request, key);
    json::object body = wire::to_json(outcome);
    body["waiting"] = json::array(waiting.begin(), waiting.end());
    co_return json_reply(200, body);
}

Task<Reply> Native::prolong(RoutedRequest& request) {
    Request wanted = read_prolonging(request, limits_);
    const Outcome outcome = co_await backend_.ask(request, std::move(wanted));
    co_return reply_to_holder(request, outcome);
}

Task<Reply> Native::release(RoutedRequest& request) {
    const auto delay = take_delay(request.query, options_);
    const LockId lock_id = lock_id_in(request.http);
    LockKey key = request.key();
    Outcome outcome;
    if (delay.count() > 0) {
        Backend::Released released =
            co_await backend_.release_later(request, std::move(key), lock_id, delay);
        outcome = std::move(released.outcome);
        if (released.later && std::holds_alternative<Lease>(outcome)) {
            co_return json_reply(202, wire::to_json(outcome));
        }
    } else {
        Request wanted = Release{std::move(key), lock_id};
        outcome = co_await backend_.ask(request, std::move(wanted));
    }
    const auto* refusal = std::get_if<Refusal>(&outcome);
    const bool ended = std::holds_alternative<Lease>(outcome) ||
                       (refusal != nullptr && refusal->kind == Refusal::Kind::gone);
    // A lease that had ended before is not an error: releasing twice is harmless.
    if (ended) co_return printed(200, outcome);
    co_return reply_of(request, outcome);
}

Task<Reply> Native::break_lock(RoutedRequest& request) {
    refuse_lock_token(request.http);
    Request wanted = read_break(request);
    const Outcome outcome = co_await backend_.ask(request, std::move(wanted));
    co_return reply_of(request, outcome);
}

Task<Reply> Native::list(RoutedRequest& request) {
    List wanted{.type = request.query.text("type"),
                .owner = request.query.text("owner"),
                .scope = scope_in(request.query)};
    if (const auto after = request.query.text("after")) wanted.after = holder_at(*after);
    wanted.limit = limit_in(request.query, wanted.limit);
    const std::size_t page = wanted.limit;
    const std::string contains = request.query.text("contains").value_or("");
    Search search{contains};
    if (!contains.empty()) {
        backend_.validate(wanted);
        wanted.limit = limits_.page_rows;
    }

    backend_.reserve_answer(request, room_for(page));

    std::vector<Holder> found;
    std::size_t bytes = 0;
    Time found_at{};
    bool more = true;
    bool rows_left = false;  // of the store's last page
    const auto is_full = [&] { return found.size() == page || bytes >= Limits::page_bytes; };
    for (std::size_t i = 0; i < pages_searched && more && !is_full(); ++i) {
        Request question = wanted;
        Outcome outcome = co_await backend_.ask(request, std::move(question));
        auto* holders = std::get_if<HolderPage>(&outcome);
        if (holders == nullptr) co_return reply_of(request, outcome);
        more = holders->may_continue(wanted.limit);
        found_at = holders->store_now;
        for (Holder& holder : holders->items) {
            rows_left = is_full();
            if (rows_left) break;
            wanted.after = holder;
            if (!search.finds(holder)) continue;
            bytes += size_of(holder);
            found.push_back(std::move(holder));
        }
        if (holders->looked_up_to && !rows_left) wanted.after = holders->looked_up_to;
    }
    Reply reply;
    reply.body = R"({"locks":)";
    co_await print_with_waiters(request, reply.body, found);
    json::object rest;
    rest["next"] = nullptr;
    if (more || rows_left) rest["next"] = cursor_of(*wanted.after);
    rest["store_now"] = wire::to_json(found_at);
    const std::string text = wire::print(rest);
    reply.body.append(",").append(text, 1);
    co_return reply;
}

Task<void> Native::print_with_waiters(RoutedRequest& request, std::string& out,
                                      const std::vector<Holder>& holders) {
    std::vector<LockKey> keys;
    keys.reserve(holders.size());
    for (const Holder& holder : holders) keys.push_back(holder.key);
    const std::vector<std::size_t> waiters =
        co_await backend_.waiting_for(request, std::move(keys));
    out += '[';
    for (std::size_t i = 0; i < holders.size(); ++i) {
        if (i > 0) out += ',';
        json::object row = wire::to_json(holders[i]);
        row["waiters"] = waiters[i];
        wire::print(out, row);
    }
    out += ']';
}

Task<Reply> Native::release_all(RoutedRequest& request) {
    Request wanted = ReleaseAll{.owner = request.names[0], .scope = scope_in(request.query)};
    Outcome outcome = co_await backend_.ask(request, std::move(wanted));
    auto* const leases = std::get_if<std::vector<Lease>>(&outcome);
    if (leases == nullptr) co_return reply_of(request, outcome);
    // The client that ends the leases need not be their holder: it must not see the secrets.
    for (Lease& lease : *leases) lease.lock_id = {};
    Reply reply;
    std::size_t room = options_.answer_bytes;
    co_await print_ended(reply.body, *leases, room);
    co_return reply;
}

Task<void> Native::print_ended(std::string& out, const std::vector<Lease>& leases,
                               std::size_t& room) {
    out += R"({"leases":[)";
    std::size_t yielded_at = out.size();
    std::size_t named = 0;
    for (; named < leases.size(); ++named) {
        const std::size_t before = out.size();
        if (named > 0) out += ',';
        wire::print(out, leases[named]);
        const std::size_t bytes = out.size() - before;
        if (bytes > room) {
            out.resize(before);
            break;
        }
        room -= bytes;
        if (out.size() - yielded_at < bytes_between_yields) continue;
        yielded_at = out.size();
        co_await asio::post(use_task);  // answers others in between
    }
    out += ']';
    if (named < leases.size()) out += R"(,"leases_in_all":)" + std::to_string(leases.size());
    out += '}';
}

Task<Reply> Native::history(RoutedRequest& request) {
    History wanted{.key = key_in(request.query), .before = request.query.integer("before")};
    wanted.limit = limit_in(request.query, wanted.limit);
    backend_.reserve_answer(request, room_for(wanted.limit));
    const PastPage page = co_await backend_.history(request, std::move(wanted));
    if (!std::holds_alternative<HistoryPage>(page.outcome))
        co_return reply_of(request, page.outcome);
    json::object body = wire::to_json(page.outcome);
    body["next"] = nullptr;
    body.erase("cut");
    body.erase("looked_up_to");
    if (page.next) body["next"] = *page.next;
    co_return json_reply(200, body);
}

}  // namespace leasehold::server::v1
