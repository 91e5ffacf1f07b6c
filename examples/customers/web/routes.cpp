#include "web/routes.hpp"

#include <array>
#include <optional>

#include "commands/counter_commands.hpp"
#include "commands/customer_commands.hpp"
#include "commands/price_list_commands.hpp"
#include "commands/session_commands.hpp"
#include "web/segments.hpp"

namespace customers::web {
namespace {

constexpr std::size_t longest_segment = 64;

struct Entry {
    std::string_view method;
    std::string_view pattern;  // a * is one name
    std::unique_ptr<Command> (*make)();
    bool is_activity = true;
};

template <class C>
std::unique_ptr<Command> make() {
    return std::make_unique<C>();
}

constexpr std::array entries{
    Entry{"GET", "/customers", make<ListCustomers>},
    Entry{"GET", "/customers/marks", make<ListMarks>, false},
    Entry{"GET", "/customers/*", make<ViewCustomer>},
    Entry{"GET", "/customers/*/edit", make<EditCustomer>},
    Entry{"POST", "/customers/*/edit", make<EditCustomer>},
    Entry{"POST", "/customers/*/addresses/*/edit", make<EditAddress>},
    Entry{"POST", "/customers/*/reopen", make<ReopenCustomer>},
    Entry{"POST", "/customers/*/save", make<SaveCustomer>},
    Entry{"POST", "/customers/*/cancel", make<CancelCustomer>},
    Entry{"GET", "/price-list", make<ShowPriceList>},
    Entry{"GET", "/price-list/read", make<ReadPriceList>},
    Entry{"POST", "/price-list/read", make<ReadPriceList>},
    Entry{"GET", "/price-list/edit", make<EditPriceList>},
    Entry{"POST", "/price-list/edit", make<EditPriceList>},
    Entry{"POST", "/price-list/reopen", make<ReopenPriceList>},
    Entry{"POST", "/price-list/save", make<SavePriceList>},
    Entry{"POST", "/price-list/leave", make<LeavePriceList>},
    Entry{"GET", "/counter", make<ShowCounter>},
    Entry{"GET", "/counter/open", make<OpenCounter>},
    Entry{"POST", "/counter/open", make<OpenCounter>},
    Entry{"POST", "/counter/take", make<TakeNumber>},
    Entry{"POST", "/counter/put-back", make<PutNumberBack>},
    Entry{"POST", "/knock/*/*", make<KnockOnLock>},
    Entry{"POST", "/sign-out", make<SignOut>},
};

std::optional<std::vector<std::string>> match(std::string_view pattern, std::string_view path) {
    const auto wanted = segments_of(pattern);
    const auto given = segments_of(path);
    if (wanted.size() != given.size()) return std::nullopt;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (wanted[i] == "*" && !given[i].empty() && given[i].size() <= longest_segment) {
            names.push_back(given[i]);
        } else if (wanted[i] != given[i]) {
            return std::nullopt;
        }
    }
    return names;
}

}  // namespace

Route find_route(std::string_view method, std::string_view path) {
    Route route;
    for (const Entry& entry : entries) {
        auto names = match(entry.pattern, path);
        if (!names) continue;
        if (entry.method == method || (method == "HEAD" && entry.method == "GET")) {
            return {.command = entry.make(),
                    .names = *std::move(names),
                    .allowed = std::string{entry.method},
                    .is_activity = entry.is_activity};
        }
        if (!route.allowed.empty()) route.allowed += ", ";
        route.allowed += entry.method;
    }
    return route;
}

}  // namespace customers::web
