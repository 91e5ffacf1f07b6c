#include "web/lock_routes.hpp"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <optional>

#include "domain/text.hpp"
#include "web/numbers.hpp"
#include "web/segments.hpp"
#include "wire/messages.hpp"

namespace customers::web {
namespace {

namespace json = boost::json;
namespace wire = leasehold::wire;
using leasehold::BadRequest;

Response json_response(int status, const json::object& body) {
    return {.status = status, .body = json::serialize(body), .content_type = "application/json"};
}

Response problem_with(int status, std::string_view code, std::string_view detail,
                      json::object fields) {
    fields["type"] = "urn:leasehold:" + std::string{code};
    fields["status"] = status;
    fields["code"] = code;
    fields["detail"] = detail;
    Response response = json_response(status, fields);
    response.content_type = "application/problem+json";
    return response;
}

Response refused(const leasehold::Refusal& refusal) {
    const bool gone = refusal.kind == leasehold::Refusal::Kind::gone;
    return problem_with(gone ? 410 : 409, leasehold::to_string(refusal.kind), refusal.message(),
                        wire::to_json(refusal));
}

template <class T>
bool may_be(leasehold::Mode mode) {
    return leasehold::mode_for(LockRule<T>::type, leasehold::Access::read) == mode ||
           leasehold::mode_for(LockRule<T>::type, leasehold::Access::write) == mode;
}

bool is_allowed(const leasehold::LockKey& key, leasehold::Mode mode) {
    if (key.type() == LockRule<Customer>::name) return may_be<Customer>(mode);
    if (key.type() == LockRule<PriceList>::name) return may_be<PriceList>(mode);
    return key.type() == LockRule<Counter>::name && may_be<Counter>(mode);
}

// One question about one key.
class Question {
public:
    Question(const Request& request, const AppSession& session, LockDesk& desk,
             leasehold::LockKey key)
        : request_{request}, session_{session}, desk_{desk}, key_{std::move(key)} {}

    [[nodiscard]] Response try_lock() {
        const json::value body = read_body();
        wire::Fields fields{body, "the body"};
        leasehold::LockOptions options{.owner = owner_of(fields),
                                       .mode = mode_of(fields),
                                       .ttl = ttl_of(fields),
                                       .note = fields.optional_text("note").value_or(""),
                                       .since = fields.optional_integer("since")};
        const auto patience = fields.optional_duration("wait_ms");
        refuse_others(fields);
        if (const auto drawn = leasehold::LockId::parse(request_.header("Lock-Token"))) {
            options.lock_id = *drawn;
        }
        if (patience && *patience > leasehold::Duration::zero()) return wait(options, *patience);
        auto lease = desk_.locks.try_lock(key_, std::move(options));
        return lease ? json_response(201, wire::to_json(*lease)) : refused(lease.error());
    }

    [[nodiscard]] Response look() {
        json::array holders;
        for (const auto& holder : desk_.locks.holders(key_)) {
            holders.emplace_back(wire::to_json(holder));
        }
        json::array waiting;
        for (const auto& owner : desk_.line.waiting_for(key_)) waiting.emplace_back(owner);
        return json_response(200, {{"holders", holders}, {"waiting", waiting}});
    }

    [[nodiscard]] Response check() {
        const auto lease = ours();
        return lease ? json_response(200, with_knocks(*lease)) : refused(lease.error());
    }

    [[nodiscard]] Response prolong() {
        const json::value body = read_body();
        wire::Fields fields{body, "the body"};
        const leasehold::Duration ttl = ttl_of(fields);
        refuse_others(fields);
        if (const auto lease = ours(); !lease) return refused(lease.error());
        const auto lease = desk_.locks.renew(key_, lock_id(), ttl);
        return lease ? json_response(200, with_knocks(*lease)) : refused(lease.error());
    }

    // A page that closes sends "?after_ms=". If it was only reloaded, it renews before that.
    [[nodiscard]] Response release() {
        const auto lease = ours();
        if (!lease) {
            desk_.line.dismiss(key_, lock_id());
            return json_response(200, {{"refused", wire::to_json(lease.error())}});
        }
        if (const auto after = integer_from(request_.query.get("after_ms")); after && *after > 0) {
            desk_.delayed_releases.release_later(*lease, std::chrono::milliseconds{*after});
            return json_response(202, {{"lease", wire::to_json(*lease)}});
        }
        const auto ended = desk_.locks.release(key_, lock_id());
        desk_.line.wake();
        if (ended) return json_response(200, {{"lease", wire::to_json(*ended)}});
        if (ended.error().kind == leasehold::Refusal::Kind::busy) return refused(ended.error());
        return json_response(200, {{"refused", wire::to_json(ended.error())}});
    }

    [[nodiscard]] Response knock() {
        const json::value body = read_body();
        wire::Fields fields{body, "the body"};
        const std::string owner = owner_of(fields);
        const std::string message = fields.optional_text("message").value_or("");
        fields.refuse_others();
        if (!is_clean(message)) throw BadRequest{"the message is not plain text"};
        if (desk_.knock(key_, owner, message) == 0) {
            return json_problem(404, "not_held", "nobody holds it");
        }
        return json_response(202, {});
    }

private:
    [[nodiscard]] json::value read_body() const {
        if (!request_.header("Content-Type").starts_with("application/json")) {
            throw BadRequest{"the body must be application/json"};
        }
        return wire::parse(request_.body);
    }

    // The application sets the limit; the page cannot raise it.
    static void refuse_others(wire::Fields& fields) {
        static_cast<void>(fields.optional_duration("max_hold_ms"));
        fields.refuse_others();
    }

    // The page chooses the name of its tab, and no other part of the owner.
    [[nodiscard]] std::string owner_of(wire::Fields& fields) const {
        const std::string owner = fields.text("owner");
        const std::string tab = owner.substr(owner.rfind('/') + 1);
        if (!is_tab_name(tab)) throw BadRequest{"the owner must end in the name of a tab"};
        return session_.owner_in(tab);
    }

    [[nodiscard]] leasehold::Mode mode_of(wire::Fields& fields) const {
        const std::string text = fields.optional_text("mode").value_or("exclusive");
        const auto mode = text == "shared" ? leasehold::Mode::shared : leasehold::Mode::exclusive;
        if (text != leasehold::to_string(mode) || !is_allowed(key_, mode)) {
            throw BadRequest{"this key cannot be locked in that mode"};
        }
        return mode;
    }

    [[nodiscard]] leasehold::Duration ttl_of(wire::Fields& fields) const {
        return std::min(fields.optional_ttl("ttl_ms").value_or(desk_.ttl), desk_.ttl);
    }

    [[nodiscard]] leasehold::LockId lock_id() const {
        const auto id = leasehold::LockId::parse(request_.header("Lock-Token"));
        if (!id) throw BadRequest{"Lock-Token: " + id.error()};
        return *id;
    }

    // The lease, unless it is somebody else's: a page learns nothing of those.
    [[nodiscard]] leasehold::Result<leasehold::Lease> ours() const {
        auto lease = desk_.locks.check(key_, lock_id());
        if (lease && !session_.owns(*lease)) return std::unexpected{leasehold::Refusal{}};
        return lease;
    }

    [[nodiscard]] Response wait(const leasehold::LockOptions& options,
                                leasehold::Duration patience) {
        const auto answer = desk_.wait(key_, options, patience);
        if (!answer) return json_problem(429, "too_many", "too many are waiting already");
        return *answer ? json_response(201, wire::to_json(**answer)) : refused(answer->error());
    }

    [[nodiscard]] json::object with_knocks(const leasehold::Lease& lease) const {
        json::object body = wire::to_json(lease);
        json::array knocks;
        for (const Knock& knock : desk_.knocks.on(lease)) {
            knocks.push_back(
                {{"by", knock.by}, {"message", knock.message}, {"at", wire::to_json(knock.at)}});
        }
        body["knocks"] = std::move(knocks);
        return body;
    }

    const Request& request_;
    const AppSession& session_;
    LockDesk& desk_;
    const leasehold::LockKey key_;
};

std::optional<Response> answer(Question& question, const Request& request, bool is_knock) {
    if (is_knock) return request.method == "POST" ? std::optional{question.knock()} : std::nullopt;
    if (request.method == "POST") return question.try_lock();
    if (request.method == "PATCH") return question.prolong();
    if (request.method == "DELETE") return question.release();
    if (request.method != "GET") return std::nullopt;
    return request.header("Lock-Token").empty() ? question.look() : question.check();
}

}  // namespace

Response json_problem(int status, std::string_view code, std::string_view detail) {
    return problem_with(status, code, detail, {});
}

Response answer_about_locks(const Request& request, const AppSession& session, LockDesk& desk) try {
    const auto parts = segments_of(request.path.substr(lock_routes_prefix.size()));
    const bool is_knock = parts.size() == 3 && parts[2] == "knock";
    if (parts.size() != 2 && !is_knock) return json_problem(404, "not_found", "no such lock");
    const leasehold::LockKey key = root_of({parts[0], parts[1]});
    if (!is_allowed(key, leasehold::Mode::exclusive)) {
        return json_problem(404, "not_found", "there is nothing of that type here");
    }
    Question question{request, session, desk, key};
    if (auto response = answer(question, request, is_knock)) return *std::move(response);
    return json_problem(405, "method_not_allowed", "this URL takes another method");
} catch (const BadRequest& bad) {
    return json_problem(400, "bad_request", bad.what());
} catch (const leasehold::StoreFault& fault) {
    return json_problem(503, "fault", fault.what());
}

}  // namespace customers::web
