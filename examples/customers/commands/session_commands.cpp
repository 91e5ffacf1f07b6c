#include "commands/session_commands.hpp"

#include "commands/answers.hpp"
#include "web/paths.hpp"

namespace customers {

web::Response SignOut::process(Visit& visit) {
    visit.sessions.sign_out(visit.session);
    auto response = web::see_other("/sign-in");
    response.headers.emplace_back(
        "Set-Cookie", kit::set_cookie(web::session_cookie, "", kit::CookieFor::any_http));
    return response;
}

web::Response KnockOnLock::process(Visit& visit) {
    const auto key =
        leasehold::LockKey::parse(visit.request.names.at(0), visit.request.names.at(1));
    if (!key) return answers::not_found(visit);
    visit.desk.routes.knock(*key, visit.work.locks().owner(), visit.request.form.get("message"));
    return web::see_other(web::page_of(*key) + "?knocked");
}

}  // namespace customers
