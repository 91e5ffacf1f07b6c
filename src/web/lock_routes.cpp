#include <leasehold/web/client_files.hpp>
#include <leasehold/web/lock_routes.hpp>

#include <boost/json/array.hpp>

#include <algorithm>
#include <charconv>
#include <future>
#include <utility>

#include "core/grant.hpp"
#include "core/knocks.hpp"
#include "core/text.hpp"
#include "web/percent.hpp"
#include "web/problems.hpp"
#include "web/waiting_line.hpp"
#include "wire/messages.hpp"

namespace leasehold::web {
namespace {

namespace json = boost::json;

constexpr std::string_view locks_prefix = "/v1/locks/";
constexpr std::string_view files_prefix = "/client/";
// A body has a few short fields and a note.
constexpr std::size_t largest_body = 16 * 1024;
constexpr std::size_t longest_knock = 4 * 1024;
constexpr std::size_t shown_of_knock = 200;  // in characters; the rest is cut off

struct Route {
    LockKey key;
    bool is_knock = false;
};

// "/v1/locks/Order/1" or "/v1/locks/Order/1/knock". Nothing if it is neither.
std::optional<Route> route_of(std::string_view path) {
    if (!path.starts_with(locks_prefix)) return std::nullopt;
    path.remove_prefix(locks_prefix.size());
    std::vector<std::string> parts;
    for (;;) {
        const std::size_t slash = path.find('/');
        auto part = decode_percent(path.substr(0, slash));
        if (!part) throw BadRequest{"the path is not encoded as a URL must be"};
        parts.push_back(*std::move(part));
        if (slash == std::string_view::npos) break;
        path.remove_prefix(slash + 1);
    }
    const bool is_knock = parts.size() == 3 && parts[2] == "knock";
    if (parts.size() != 2 && !is_knock) return std::nullopt;
    return Route{LockKey{parts[0], parts[1]}, is_knock};
}

Duration delay_in(const web::Request& request, Duration longest) {
    const std::string text = request.query("after_ms");
    if (text.empty()) return Duration::zero();
    std::int64_t ms = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ms);
    if (error != std::errc{} || end != text.data() + text.size() || ms < 0) {
        throw BadRequest{"\"after_ms\" must be a number of milliseconds"};
    }
    constexpr auto most =
        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::hours{1});
    return std::min<Duration>(std::chrono::milliseconds{std::min<std::int64_t>(ms, most.count())},
                              longest);
}

// A database's own words name its host and its user, so pages do not get them.
Response fault_response(const StoreFault& fault) {
    const StoreFault shown{fault.effect(), fault.cause(),
                           "the locks are not available; the log of the application says why"};
    return problem_response(503, "fault", shown.what(), wire::to_json(shown));
}

Response unauthorized() {
    return problem_response(401, "unauthorized", "nobody is signed in", {});
}

json::value body_of(const web::Request& request) {
    if (request.body.size() > largest_body) throw BadRequest{"the body is too large"};
    if (!request.header("Content-Type").starts_with("application/json")) {
        throw BadRequest{"the body must be application/json"};
    }
    return wire::parse(request.body);
}

LockId lock_id_of(const web::Request& request) {
    const auto id = LockId::parse(request.header("Lock-Token"));
    if (!id) throw BadRequest{"Lock-Token: " + id.error()};
    return *id;
}

// The page chooses the name of its tab, and no other part of the owner.
std::string owner_of(wire::Fields& fields, const Visitor& who) {
    const std::string owner = fields.text("owner");
    return who.owner_in(owner.substr(owner.rfind('/') + 1));
}

// Cut between two characters of UTF-8.
std::string beginning_of(std::string_view text, std::size_t characters) {
    const auto starts = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; };
    const auto end = std::ranges::find_if(text, [&, seen = std::size_t{0}](char c) mutable {
        return starts(c) && ++seen > characters;
    });
    return {text.begin(), end};
}

// The visitor may not lock the key, or not in this mode.
struct Forbidden {};

}  // namespace

class LockRoutes::State {
public:
    State(LockManager& locks, MayLock may_lock, LockRoutesOptions options)
        : options_{std::move(options)}, locks_{locks}, may_lock_{std::move(may_lock)} {}

    // Where the answer goes, and what the request occupies until then.
    struct Occupant {
        Reply reply;
        WaitingLine::Occupies occupies = WaitingLine::Occupies::nothing;
    };

    void answer(const web::Request& request, const std::optional<Visitor>& who,
                const Occupant& occupant) {
        std::optional<Response> response;
        try {
            if (!request.path().starts_with(locks_prefix)) {
                response = file(request);
            } else if (!who) {
                response = unauthorized();
            } else {
                response = about_a_lock(request, *who, occupant);
            }
        } catch (const Forbidden&) {
            response = problem_response(403, "forbidden", "you may not lock this", {});
        } catch (const BadRequest& bad) {
            response = problem_response(400, "bad_request", bad.what(), {});
        } catch (const StoreFault& fault) {
            response = failed(fault);
        }
        if (response) occupant.reply(*std::move(response));
    }

    // The number of holders, or how long to wait before knocking again.
    std::expected<std::size_t, Duration> knock(const LockKey& key, const std::string& by,
                                               const std::string& message) {
        if (auto problem = text_problem("the message", message, longest_knock, Lines::many)) {
            throw BadRequest{*problem};
        }
        Knock knock{.by = by,
                    .message = beginning_of(message, shown_of_knock),
                    .client = std::string{user_of(by)}};
        if (const auto pause = knocks_.pause_of(key, knock)) return too_early(*pause);
        const auto holders = locks_.holders(key);
        if (holders.empty()) return 0;
        knock.at = holders.store_now;
        if (const auto pause = knocks_.add(key, holders.items, std::move(knock))) {
            return too_early(*pause);
        }
        return holders.size();
    }

    std::size_t holders_of(const LockKey& key) { return locks_.holders(key).size(); }

    WaitingLine& line() noexcept { return line_; }
    [[nodiscard]] const LockRoutesOptions& options() const noexcept { return options_; }

private:
    Response failed(const StoreFault& fault) const {
        if (options_.on_fault) options_.on_fault(fault);
        return fault_response(fault);
    }

    static Response file(const web::Request& request) {
        if (request.method == "GET" || request.method == "HEAD") {
            if (auto found = client_file(request.path())) return *std::move(found);
        }
        return problem_response(404, "not_found", "there is no such file", {});
    }

    // Nothing if the reply comes later.
    std::optional<Response> about_a_lock(const web::Request& request, const Visitor& who,
                                         const Occupant& occupant) {
        const auto route = route_of(request.path());
        if (!route) return problem_response(404, "not_found", "this URL does not exist", {});
        const LockKey& key = route->key;
        if (!may_lock_(who, key, Mode::exclusive) && !may_lock_(who, key, Mode::shared)) {
            throw Forbidden{};
        }
        const std::string& method = request.method;
        if (route->is_knock && method == "POST") return knock(request, who, key);
        if (!route->is_knock) {
            if (method == "POST") return try_lock(request, who, key, occupant);
            if (method == "PATCH") return renew(request, who, key);
            if (method == "DELETE") return release(request, who, key);
            if (method == "GET") {
                return request.header("Lock-Token").empty() ? look(key) : check(request, who, key);
            }
        }
        return problem_response(405, "method_not_allowed", "this URL takes another method", {});
    }

    std::optional<Response> try_lock(const web::Request& request, const Visitor& who,
                                     const LockKey& key, const Occupant& occupant) {
        const json::value body = body_of(request);
        wire::Fields fields{body, "the body"};
        LockOptions options{.owner = owner_of(fields, who),
                            .mode = mode_in(fields, who, key),
                            .ttl = ttl_in(fields),
                            .max_hold = max_hold_in(fields),
                            .since = fields.optional_integer("since")};
        for_each_field(requested_texts, [&](const auto& field) {
            field.of(options) = fields.optional_text(field.name).value_or("");
        });
        const Duration patience = fields.optional_duration("wait_ms").value_or(Duration::zero());
        fields.refuse_others();
        if (!request.header("Lock-Token").empty()) {
            options.lock_id = lock_id_of(request);
            const auto lease = locks_.check(key, *options.lock_id);
            if (lease && !who.owns(*lease)) return refusal_response(Refusal{});
        }
        if (patience <= Duration::zero()) return granted(take(key, options), who);
        const auto later = [this, who, reply = occupant.reply](Outcome outcome, auto got) {
            try {
                reply(
                    granted_after_waiting(result_of<Result<Lease>>(std::move(outcome)), got, who));
            } catch (const StoreFault& fault) {
                reply(failed(fault));
            }
        };
        LockOptions waiting = options;
        if (!waiting.lock_id) waiting.lock_id = LockId::random();
        TryLock wanted = try_request(key, std::move(waiting), locks_.limits());
        switch (line_.wait(wanted, who, patience, occupant.occupies, request.client_gone, later)) {
            case WaitingLine::Joined::waits: return {};
            case WaitingLine::Joined::kept: return ask_again("your place in the line is kept");
            case WaitingLine::Joined::too_many: break;
            case WaitingLine::Joined::no_thread: {
                const auto lease = take(key, options);
                if (lease || lease.error().kind != Refusal::Kind::held) return granted(lease, who);
                if (!line_.keep_place(std::move(wanted), who)) break;
                return ask_again("your place in the line is kept");
            }
        }
        return ask_again("too many pages wait for locks");
    }

    static Response ask_again(std::string_view why, Duration pause = WaitingLine::ask_again) {
        Response response = problem_response(429, "too_many", why, {});
        const auto seconds = std::chrono::ceil<std::chrono::seconds>(pause);
        response.headers.emplace_back("Retry-After", std::to_string(seconds.count()));
        return response;
    }

    static std::unexpected<Duration> too_early(Knocks::Clock::duration pause) {
        return std::unexpected{std::chrono::ceil<Duration>(pause)};
    }

    // Releases a lease that the store may have granted before it failed, unless the page knows the
    // lock id: then the page asks again with it.
    Result<Lease> take(const LockKey& key, LockOptions options) {
        const bool page_knows_id = options.lock_id.has_value();
        if (!page_knows_id) options.lock_id = LockId::random();
        try {
            return locks_.try_lock(key, options);
        } catch (const StoreFault&) {
            if (!page_knows_id) {
                locks_.submit(Release{.key = key, .lock_id = *options.lock_id}, [](const Outcome&) {
                    // If the store fails again, the lease expires.
                });
            }
            throw;
        }
    }

    // The session may have ended while the store was asked.
    Response granted(const Result<Lease>& lease, const Visitor& who) {
        if (!lease) return refusal_response(lease.error());
        if (who.has_left()) {
            locks_.release_after(*lease, Duration::zero());
            return unauthorized();
        }
        return json_response(201, wire::to_json(*lease));
    }

    // A lease that its owner had before is not released: an earlier response has told of it.
    Response granted_after_waiting(const Result<Lease>& lease, WaitingLine::Got got,
                                   const Visitor& who) {
        Response response = granted(lease, who);
        if (response.status == 201 && got == WaitingLine::Got::new_lease) {
            response.if_unsent = [&locks = locks_, given = *lease] {
                locks.release_after(given, Duration::zero());
            };
        }
        return response;
    }

    Response look(const LockKey& key) {
        const HolderPage page = locks_.holders(key);
        json::array holders;
        for (const Holder& holder : page) holders.emplace_back(wire::to_json(holder));
        json::array waiting;
        for (const std::string& owner : line_.owners(key)) waiting.emplace_back(owner);
        return json_response(200, {{"holders", std::move(holders)},
                                   {"waiting", std::move(waiting)},
                                   {"store_now", wire::to_json(page.store_now)}});
    }

    Response check(const web::Request& request, const Visitor& who, const LockKey& key) {
        const auto lease = own_lease(key, lock_id_of(request), who);
        return lease ? with_knocks(*lease) : refusal_response(lease.error());
    }

    Response renew(const web::Request& request, const Visitor& who, const LockKey& key) {
        const json::value body = body_of(request);
        wire::Fields fields{body, "the body"};
        const Duration ttl = ttl_in(fields);
        const Duration max_hold = max_hold_in(fields);
        fields.refuse_others();
        const LockId lock_id = lock_id_of(request);
        if (const auto own = own_lease(key, lock_id, who); !own) {
            return refusal_response(own.error());
        }
        const auto lease = locks_.renew(key, lock_id, ttl, max_hold);
        return lease ? with_knocks(*lease) : refusal_response(lease.error());
    }

    // A page that closes sends "?after_ms=". If it was only reloaded, it renews before that.
    Response release(const web::Request& request, const Visitor& who, const LockKey& key) {
        const LockId lock_id = lock_id_of(request);
        const Duration delay = delay_in(request, options_.longest_delay);
        line_.withdraw(key, lock_id, who);
        const auto own = own_lease(key, lock_id, who);
        if (!own) return json_response(200, {{"refused", wire::to_json(own.error())}});
        if (delay > Duration::zero()) {
            locks_.release_after(*own, delay);
            return json_response(202, {{"lease", wire::to_json(*own)}});
        }
        const auto ended = locks_.release(key, lock_id);
        if (ended) return json_response(200, {{"lease", wire::to_json(*ended)}});
        if (ended.error().kind == Refusal::Kind::busy) return refusal_response(ended.error());
        return json_response(200, {{"refused", wire::to_json(ended.error())}});
    }

    Response knock(const web::Request& request, const Visitor& who, const LockKey& key) {
        const json::value body = body_of(request);
        wire::Fields fields{body, "the body"};
        const std::string owner = owner_of(fields, who);
        const std::string message = fields.optional_text("message").value_or("");
        fields.refuse_others();
        const auto holders = knock(key, owner, message);
        if (!holders) {
            return ask_again("the holder has just been asked", holders.error());
        }
        if (*holders == 0) return problem_response(404, "not_held", "nobody holds it", {});
        return json_response(202, {});
    }

    Mode mode_in(wire::Fields& fields, const Visitor& who, const LockKey& key) const {
        const std::string text = fields.optional_text("mode").value_or("exclusive");
        const Mode mode = text == "shared" ? Mode::shared : Mode::exclusive;
        if (text != to_string(mode)) {
            throw BadRequest{"the mode is \"" + text + "\"; expected \"exclusive\" or \"shared\""};
        }
        if (!may_lock_(who, key, mode)) throw Forbidden{};
        return mode;
    }

    Duration ttl_in(wire::Fields& fields) const {
        return std::min(fields.optional_ttl("ttl_ms").value_or(options_.ttl), options_.ttl);
    }

    Duration max_hold_in(wire::Fields& fields) const {
        return std::min(fields.optional_duration("max_hold_ms").value_or(options_.max_hold),
                        options_.max_hold);
    }

    // The lease, unless it is another session's: a page learns nothing of those.
    Result<Lease> own_lease(const LockKey& key, LockId lock_id, const Visitor& who) {
        auto lease = locks_.check(key, lock_id);
        if (lease && !who.owns(*lease)) return std::unexpected{Refusal{}};
        return lease;
    }

    Response with_knocks(const Lease& lease) {
        json::object body = wire::to_json(lease);
        json::array knocks;
        for (const Knock& knock : knocks_.on(lease.key, lease.fence)) {
            knocks.push_back(
                {{"by", knock.by}, {"message", knock.message}, {"at", wire::to_json(knock.at)}});
        }
        body["knocks"] = std::move(knocks);
        return json_response(200, body);
    }

    const LockRoutesOptions options_;
    LockManager& locks_;
    const MayLock may_lock_;
    Knocks knocks_;
    WaitingLine line_{locks_, options_};  // last: its thread answers requests
};

LockRoutes::LockRoutes(LockManager& locks, MayLock may_lock, LockRoutesOptions options)
    : state_{std::make_unique<State>(locks, std::move(may_lock), std::move(options))} {}

LockRoutes::~LockRoutes() = default;

bool LockRoutes::serves(std::string_view path) {
    return path.starts_with(locks_prefix) || path.starts_with(files_prefix);
}

Response LockRoutes::answer(const Request& request, const std::optional<Visitor>& who) {
    const auto promise = std::make_shared<std::promise<Response>>();
    auto future = promise->get_future();
    state_->answer(
        request, who,
        {.reply = [promise](Response response) { promise->set_value(std::move(response)); },
         .occupies = WaitingLine::Occupies::thread});
    return future.get();
}

Response LockRoutes::answer(std::string method, std::string path, Headers headers, std::string body,
                            const std::optional<Visitor>& who) {
    return answer(Request{.method = std::move(method),
                          .target = std::move(path),
                          .headers = std::move(headers),
                          .body = std::move(body)},
                  who);
}

void LockRoutes::answer(const Request& request, const std::optional<Visitor>& who, Reply reply) {
    state_->answer(request, who, {.reply = std::move(reply)});
}

std::size_t LockRoutes::knock(const LockKey& key, const std::string& by,
                              const std::string& message) {
    const auto holders = state_->knock(key, by, message);
    return holders ? *holders : state_->holders_of(key);
}

std::vector<std::string> LockRoutes::waiting_for(const LockKey& key) const {
    return state_->line().owners(key);
}

void LockRoutes::stop_waiting() {
    state_->line().close();
}

const LockRoutesOptions& LockRoutes::options() const noexcept {
    return state_->options();
}

}  // namespace leasehold::web
