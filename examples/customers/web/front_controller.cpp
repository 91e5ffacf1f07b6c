#include "web/front_controller.hpp"

#include <leasehold/errors.hpp>
#include <leasehold/web/router.hpp>

#include "domain/text.hpp"

namespace customers::web {
namespace {

constexpr std::size_t longest_name = 40;

const kit::Router<Route>& router() {
    static const auto routes = [] {
        kit::Router<Route> all;
        for (const auto commands :
             {customer_commands(), price_list_commands(), counter_commands(), session_commands()}) {
            for (const Route& route : commands) all.add(route.method, route.pattern, route);
        }
        return all;
    }();
    return routes;
}

void set_cookie(Response& response, std::string_view name, std::string_view value) {
    response.headers.emplace_back("Set-Cookie",
                                  kit::set_cookie(name, value, kit::CookieFor::any_http));
}

// Where the work that a session's end interrupted goes on.
std::string continued(const std::string& path) {
    constexpr std::string_view save = "/save";
    if (!path.ends_with(save)) return path;
    return path.substr(0, path.size() - save.size()) + "/reopen";
}

}  // namespace

Response FrontController::handle(kit::Request plain) {
    const std::string languages{plain.header("Accept-Language")};
    auto request = Request::read(std::move(plain));
    if (!request) {
        return plain_refusal(400, "The application cannot read this request.", languages);
    }
    const auto sorry = [&](int status, std::string_view title, std::string_view detail) {
        const auto session = sessions_.find(request->plain.cookie(session_cookie));
        return problem_page(viewer_for(*request, session.get()), status, title, detail, &*request);
    };
    try {
        Response response = answer(*request);
        if (request->query.has("lang")) {
            set_cookie(response, "lang", leasehold::tag_of(request->language()));
        }
        return response;
    } catch (const leasehold::BadRequest&) {
        return sorry(400, "Bad request", "The application cannot read this request.");
    } catch (const leasehold::StoreFault&) {
        return sorry(503, "Not now", "The locks cannot be checked at the moment.");
    } catch (const database::DatabaseError&) {
        return sorry(503, "Not now",
                     "The database does not answer. If you were saving, it is not known whether "
                     "it was saved. Try again to find out.");
    } catch (const std::exception&) {
        return sorry(500, "Something went wrong",
                     "The application made a mistake. You did nothing wrong.");
    }
}

Response FrontController::answer(Request& request) {
    const std::string& method = request.plain.method;
    if (!hosts_.empty() && !kit::is_for_host(request.plain, hosts_)) {
        return problem_page(viewer_for(request, nullptr), 421, "Wrong address",
                            "This server does not have that name.");
    }
    if (method != "GET" && method != "HEAD" && kit::is_from_another_site(request.plain)) {
        return problem_page(viewer_for(request, nullptr), 403, "Request refused",
                            "This request came from another site.");
    }
    if (kit::LockRoutes::serves(request.plain.path())) return answer_guard(request);
    if (request.plain.path() == "/sign-in") return sign_in(request);
    const auto session = sessions_.find(request.plain.cookie(session_cookie));
    if (!session) return method == "POST" ? sign_in_page(request) : see_other("/sign-in");
    if (request.plain.path() == "/") return see_other("/customers");
    return command(request, *session);
}

// The web kit answers the <leasehold-guard> of our pages. An address is its customer.
Response FrontController::answer_guard(Request& request) {
    constexpr std::string_view address = "/v1/locks/Address/";
    std::string& target = request.plain.target;
    if (target.starts_with(address)) target.replace(0, address.size(), "/v1/locks/Customer/");
    const auto session = sessions_.find(request.plain.cookie(session_cookie));
    // A page that renews its lock has somebody at work in it.
    if (session && request.plain.method == "PATCH") sessions_.touch(*session);
    return desk_.routes.answer(request.plain,
                               session ? std::optional{session->visitor} : std::nullopt);
}

Response FrontController::sign_in(const Request& request) {
    if (request.plain.method != "POST") return sign_in_page(request);
    const std::string name = tidy(request.form.get("name"));
    if (name.empty() || length_of(name) > longest_name ||
        name.find_first_of("/\n\t") != std::string::npos) {
        return sign_in_page(request, "A name has 1 to 40 characters and no slash.");
    }
    const auto session = sessions_.sign_in(name);
    if (!session) {
        return problem_page(viewer_for(request, nullptr), 503, "Not now",
                            "Too many people are signed in.");
    }
    Response response = see_other("/customers");
    const auto draft = Fields::parse(request.form.get("draft"));
    if (draft && draft->has("version")) {
        Request again = request;
        again.form = *draft;
        const auto found = router().find("POST", continued(request.form.get("next")));
        again.names = found.names;
        if (found.handler != nullptr) response = run(*found.handler, again, *session);
    }
    set_cookie(response, session_cookie, session->token);
    return response;
}

Response FrontController::command(Request& request, const kit::SignedIn& session) {
    const auto found = router().find(request.plain.method, request.plain.path());
    const Viewer viewer = viewer_for(request, &session);
    if (found.handler == nullptr && found.allowed.empty()) {
        return problem_page(viewer, 404, "Not found", "There is nothing here.");
    }
    if (found.handler == nullptr) {
        Response response = problem_page(viewer, 405, "Not possible",
                                         "This page does not answer this kind of request.");
        response.headers.emplace_back("Allow", found.allowed);
        return response;
    }
    if (request.plain.method == "POST" &&
        !kit::is_same_secret(request.form.get("form_token"), session.form_token)) {
        return problem_page(
            viewer, 403, "Not sent",
            "This form does not belong to your current session. Nothing was changed.", &request);
    }
    request.names = found.names;
    if (found.handler->is_activity) sessions_.touch(session);
    return run(*found.handler, request, session);
}

Response FrontController::run(const Route& route, const Request& request,
                              const kit::SignedIn& session) {
    BusinessTransaction work{desk_, pool_, session.visitor, request.tab()};
    Visit visit{
        .request = request, .session = session, .sessions = sessions_, .desk = desk_, .work = work};
    return TransactionalCommand{route.make()}.process(visit);
}

}  // namespace customers::web
