#include <array>

#include "commands/record_commands.hpp"

// There is one price list. Reading it takes a shared lock, editing it an exclusive one.
namespace customers {

template <>
struct Kind<PriceList> {
    static std::string id(const Visit&) { return standard_prices; }
    static Locking<PriceList>& records(Visit& visit) { return visit.work.price_lists(); }
    static std::string title(const PriceList&, web::Language language) {
        return std::string{web::in(language, "Price list")};
    }
};

namespace {

// Shows who reads or edits the price list, without prices: seeing prices takes the lock.
class ShowPriceList final : public Command {
    [[nodiscard]] web::Response process(Visit& visit) override {
        const auto holders = visit.desk.locks.holders(key_of<PriceList>(standard_prices)).items;
        return web::pages::price_list(visit.viewer(), holders, visit.news());
    }
};

class ReadPriceList final : public Command {
    [[nodiscard]] web::Response process(Visit& visit) override {
        return open<PriceList>(visit, key_of<PriceList>(standard_prices), leasehold::Access::read,
                               "/read", [&](const auto& list, const auto& lock) {
                                   return web::pages::price_list_read(visit.viewer(), list, lock);
                               });
    }
};

}  // namespace

std::span<const Route> price_list_commands() {
    static constexpr std::array routes{
        Route{"GET", "/price-list", make<ShowPriceList>},
        Route{"GET", "/price-list/read", make<ReadPriceList>},
        Route{"POST", "/price-list/read", make<ReadPriceList>},
        Route{"POST", "/price-list/leave", make<Leave<PriceList>>},
        // Converts the lock of a single reader from reading to editing.
        Route{"GET", "/price-list/edit", make<Edit<PriceList>>},
        Route{"POST", "/price-list/edit", make<Edit<PriceList>>},
        Route{"POST", "/price-list/reopen", make<Reopen<PriceList>>},
        Route{"POST", "/price-list/save", make<Save<PriceList>>},
        Route{"POST", "/price-list/cancel", make<Leave<PriceList>>}};
    return routes;
}

}  // namespace customers
