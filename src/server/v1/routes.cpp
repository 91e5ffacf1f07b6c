#include <array>

#include "server/v1/lock_token.hpp"
#include "server/v1/native.hpp"

namespace leasehold::server::v1 {
namespace {

template <class... Names>
consteval QueryNames query(Names... names) {
    return {std::string_view{names}...};
}

constexpr auto no_query = QueryNames{};
constexpr auto any_query = QueryNames::any();

constexpr Rule asks_to_use{Need::use, Pace::asks};
constexpr Rule keeps_or_ends{Need::use, Pace::keeps};
constexpr Rule checks{Need::use_or_see, Pace::keeps};
constexpr Rule sees{Need::see, Pace::asks};
constexpr Rule breaks{Need::break_, Pace::asks};
constexpr Rule knows_itself{Need::a_token, Pace::asks};
// And the rule of each request in the batch.
constexpr Rule batches{Need::a_token, Pace::by_request};
constexpr Rule open_to_all{Need::nothing, Pace::asks};

}  // namespace

// The routes that are used most come first. openapi.json describes every one of them.
struct Native::Table {
    static constexpr std::array rows{
        // With the lease's secret, a GET is the check, by which a holder keeps its lease.
        Route{"GET", "/v1/locks/{type}/{id}", checks, no_query, TakesBody::no,
              handler<&Native::check>, has_lock_token},
        Route{"GET", "/v1/locks/{type}/{id}", sees, no_query, TakesBody::no,
              handler<&Native::show_holders>},
        Route{"POST", "/v1/locks/{type}/{id}", asks_to_use, no_query, TakesBody::yes,
              handler<&Native::try_lock>},
        Route{"PATCH", "/v1/locks/{type}/{id}", keeps_or_ends, no_query, TakesBody::yes,
              handler<&Native::prolong>},
        Route{"DELETE", "/v1/locks/{type}/{id}", keeps_or_ends, query("after_ms"), TakesBody::no,
              handler<&Native::release>},
        Route{"POST", "/v1/batch", batches, no_query, TakesBody::yes, handler<&Native::batch>},
        Route{"GET", "/v1/locks", sees,
              query("type", "owner", "scope", "contains", "after", "limit"), TakesBody::no,
              handler<&Native::list>},
        Route{"POST", "/v1/locks/{type}/{id}/break", breaks, no_query, TakesBody::yes,
              handler<&Native::break_lock>},
        Route{"POST", "/v1/locks/{type}/{id}/knock", asks_to_use, no_query, TakesBody::yes,
              handler<&Native::knock>},
        Route{"DELETE", "/v1/owners/{owner}/locks", keeps_or_ends, query("scope"), TakesBody::no,
              handler<&Native::release_all>},
        Route{"GET", "/v1/history", sees, query("type", "id", "before", "limit"), TakesBody::no,
              handler<&Native::history>},
        Route{"GET", "/v1/events", sees, query("type", "id", "owner", "scope"), TakesBody::no,
              handler<&Native::events>},
        Route{"GET", "/v1/statistics", sees, query("over"), TakesBody::no,
              handler<&Native::statistics>},
        Route{"GET", "/v1/refused", sees, query("type", "id", "limit"), TakesBody::no,
              handler<&Native::refused>},
        Route{"GET", "/v1/token", knows_itself, no_query, TakesBody::no, handler<&Native::token>},
        Route{"GET", "/v1/server", breaks, no_query, TakesBody::no, handler<&Native::server>},
        Route{"GET", "/healthz", open_to_all, no_query, TakesBody::no, handler<&Native::healthy>},
        Route{"GET", "/readyz", open_to_all, no_query, TakesBody::no, handler<&Native::ready>},
        Route{"GET", "/metrics", sees, no_query, TakesBody::no, handler<&Native::metrics>},
        Route{"GET", "/openapi.json", open_to_all, no_query, TakesBody::no,
              handler<&Native::describe>},
        Route{"GET", "/", open_to_all, any_query, TakesBody::no, handler<&Native::console>},
        Route{"GET", "/console/{file}", open_to_all, any_query, TakesBody::no,
              handler<&Native::console_file>},
        Route{"GET", "/client/{file}", open_to_all, any_query, TakesBody::no,
              handler<&Native::client_file>},
        Route{"GET", "/docs/{file...}", open_to_all, any_query, TakesBody::no,
              handler<&Native::documentation>},
    };
};

std::span<const Route> Native::table() noexcept {
    return Table::rows;
}

}  // namespace leasehold::server::v1
