#include "web/front_controller.hpp"

#include <leasehold/errors.hpp>

#include "commands/transactional_command.hpp"
#include "domain/text.hpp"
#include "web/routes.hpp"

namespace customers::web {
namespace {

constexpr std::size_t longest_name = 40;

// Where the work that a session's end interrupted goes on.
std::string continued(const std::string& path) {
    constexpr std::string_view save = "/save";
    if (!path.ends_with(save)) return path;
    return path.substr(0, path.size() - save.size()) + "/reopen";
}

}  // namespace

Response FrontController::handle(Request request) {
    const auto sorry = [&](int status, std::string_view title, std::string_view detail) {
        const auto session = sessions_.find(request.cookie(session_cookie));
        return pages::problem(viewer_for(request, session.get()), status, title, detail, &request);
    };
    try {
        Response response = answer(request);
        if (request.query.has("lang")) {
            response.headers.emplace_back(
                "Set-Cookie", kit::set_cookie("lang", leasehold::tag_of(request.language()),
                                              kit::CookieFor::any_http));
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
    const kit::Request plain = request.kit_request();
    if (!hosts_.empty() && !kit::is_for_host(plain, hosts_)) {
        return pages::problem(viewer_for(request, nullptr), 421, "Wrong address",
                              "This server does not have that name.");
    }
    if (const Response* file = files_.find(request.path)) return *file;
    if (request.method != "GET" && request.method != "HEAD" && kit::is_from_another_site(plain)) {
        return pages::problem(viewer_for(request, nullptr), 403, "Request refused",
                              "This request came from another site.");
    }
    if (kit::LockRoutes::serves(request.path)) return answer_guard(request);
    if (request.path == "/sign-in") return sign_in(request);
    const auto session = sessions_.find(request.cookie(session_cookie));
    if (!session) return answer_stranger(request);
    if (request.path == "/") return see_other("/customers");
    return command(request, *session);
}

// The web kit answers the <leasehold-guard> of our pages. An address is its customer.
Response FrontController::answer_guard(Request& request) {
    constexpr std::string_view address = "/v1/locks/Address/";
    if (request.path.starts_with(address)) {
        request.path.replace(0, address.size(), "/v1/locks/Customer/");
    }
    const auto session = sessions_.find(request.cookie(session_cookie));
    // A page that renews its lock has somebody at work in it.
    if (session && request.method == "PATCH") sessions_.touch(*session);
    return desk_.routes.answer(request.kit_request(),
                               session ? std::optional{session->visitor} : std::nullopt);
}

Response FrontController::answer_stranger(const Request& request) const {
    if (request.method == "POST") return pages::sign_in(request.language(), request);
    return see_other("/sign-in");
}

Response FrontController::sign_in(const Request& request) {
    const Language language = request.language();
    if (request.method != "POST") return pages::sign_in(language, request);
    const std::string name = tidy(request.form.get("name"));
    if (name.empty() || length_of(name) > longest_name ||
        name.find_first_of("/\n\t") != std::string::npos) {
        return pages::sign_in(language, request, "A name has 1 to 40 characters and no slash.");
    }
    const auto session = sessions_.sign_in(name);
    if (!session) {
        return pages::problem(viewer_for(request, nullptr), 503, "Not now",
                              "Too many people are signed in.");
    }
    Response response = see_other("/customers");
    const auto draft = Fields::parse(request.form.get("draft"));
    if (draft && draft->has("version")) {
        Request again = request;
        again.path = continued(request.form.get("next"));
        again.form = *draft;
        if (Route route = find_route("POST", again.path); route.command) {
            again.names = std::move(route.names);
            response = run(std::move(route.command), again, *session);
        }
    }
    response.headers.emplace_back(
        "Set-Cookie", kit::set_cookie(session_cookie, session->token, kit::CookieFor::any_http));
    return response;
}

Response FrontController::command(Request& request, const kit::SignedIn& session) {
    Route route = find_route(request.method, request.path);
    const pages::Viewer viewer = viewer_for(request, &session);
    if (!route.command) {
        if (route.allowed.empty()) {
            return pages::problem(viewer, 404, "Not found", "There is nothing here.");
        }
        Response response = pages::problem(viewer, 405, "Not possible",
                                           "This page does not answer this kind of request.");
        response.headers.emplace_back("Allow", route.allowed);
        return response;
    }
    if (request.method == "POST" &&
        !kit::is_same_secret(request.form.get("form_token"), session.form_token)) {
        return pages::problem(
            viewer, 403, "Not sent",
            "This form does not belong to your current session. Nothing was changed.", &request);
    }
    request.names = std::move(route.names);
    if (route.is_activity) sessions_.touch(session);
    return run(std::move(route.command), request, session);
}

Response FrontController::run(std::unique_ptr<Command> command, const Request& request,
                              const kit::SignedIn& session) {
    BusinessTransaction work{desk_, pool_, session.visitor, request.tab()};
    Visit visit{
        .request = request, .session = session, .sessions = sessions_, .desk = desk_, .work = work};
    return TransactionalCommand{std::move(command)}.process(visit);
}

}  // namespace customers::web
