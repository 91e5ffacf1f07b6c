#include "mapping/price_list_mapper.hpp"

#include "mapping/revision_fields.hpp"

namespace customers {

std::optional<PriceList> PriceListMapper::load(const std::string& id) {
    const auto rows = transaction().query(
        "select version, changed_by, changed_at from price_lists where id = ?", {id});
    if (rows.empty()) return std::nullopt;
    PriceList list{.id = id, .revision = revision_from(rows.front(), 0)};
    for (const database::Row& row : transaction().query(
             "select item, cents from prices where list_id = ? order by position", {id})) {
        list.prices.push_back({.item = row[0], .cents = number_from(row[1])});
    }
    return list;
}

bool PriceListMapper::update(const PriceList& list, const leasehold::Lease& lease) {
    const auto changed = transaction().change(
        "update price_lists set version = version + 1, changed_by = ?, changed_at = ? "
        "where id = ? and version = ?",
        {writer_of(lease), leasehold::to_string(lease.store_now), list.id,
         std::to_string(list.revision.version)});
    if (changed == 0) return false;
    transaction().change("delete from prices where list_id = ?", {list.id});
    int position = 0;
    for (const Price& price : list.prices) {
        transaction().change(
            "insert into prices (list_id, position, item, cents) values (?, ?, ?, ?)",
            {list.id, std::to_string(++position), price.item, std::to_string(price.cents)});
    }
    return true;
}

}  // namespace customers
