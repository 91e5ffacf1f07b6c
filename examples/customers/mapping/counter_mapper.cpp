#include "mapping/counter_mapper.hpp"

#include "mapping/revision_fields.hpp"

namespace customers {

std::optional<Counter> CounterMapper::load(const std::string& id) {
    const auto rows = transaction().query(
        "select next_number, version, changed_by, changed_at from counters where id = ?", {id});
    if (rows.empty()) return std::nullopt;
    return Counter{
        .id = id, .next = number_from(rows.front()[0]), .revision = revision_from(rows.front(), 1)};
}

bool CounterMapper::update(const Counter& counter, const leasehold::Lease& lease) {
    const auto changed = transaction().change(
        "update counters set next_number = ?, version = version + 1, changed_by = ?, "
        "changed_at = ? where id = ? and version = ?",
        {std::to_string(counter.next), writer_of(lease), leasehold::to_string(lease.store_now),
         counter.id, std::to_string(counter.revision.version)});
    return changed != 0;
}

}  // namespace customers
