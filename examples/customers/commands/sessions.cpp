#include <array>

#include "commands/command.hpp"

namespace customers {
namespace {

// The end of the session: its locks end with it.
class SignOut final : public Command {
    [[nodiscard]] web::Response process(Visit& visit) override {
        visit.sessions.sign_out(visit.session);
        auto response = web::see_other("/sign-in");
        response.headers.emplace_back(
            "Set-Cookie", kit::set_cookie(web::session_cookie, "", kit::CookieFor::any_http));
        return response;
    }
};

// Asks the holder of a lock to finish; for pages without a script.
class KnockOnLock final : public Command {
    [[nodiscard]] web::Response process(Visit& visit) override {
        const auto& names = visit.request.names;
        const auto key = leasehold::LockKey::parse(names.at(0), names.at(1));
        if (!key) return visit.not_found();
        visit.desk.routes.knock(*key, visit.work.locks().owner(),
                                visit.request.form.get("message"));
        return web::see_other(web::path_of(*key) + "?knocked");
    }
};

}  // namespace

std::span<const Route> session_commands() {
    static constexpr std::array routes{Route{"POST", "/knock/*/*", make<KnockOnLock>},
                                       Route{"POST", "/sign-out", make<SignOut>}};
    return routes;
}

}  // namespace customers
