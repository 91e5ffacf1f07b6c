#include "mapping/customer_mapper.hpp"

#include "mapping/revision_fields.hpp"

namespace customers {

std::optional<Customer> CustomerMapper::load(const std::string& id) {
    const auto rows = transaction().query(
        "select name, email, phone, note, version, changed_by, changed_at "
        "from customers where id = ?",
        {id});
    if (rows.empty()) return std::nullopt;
    const database::Row& row = rows.front();
    Customer customer{.id = id,
                      .name = row[0],
                      .email = row[1],
                      .phone = row[2],
                      .note = row[3],
                      .revision = revision_from(row, 4)};
    for (const database::Row& address :
         transaction().query("select label, street, city from addresses "
                             "where customer_id = ? order by position",
                             {id})) {
        customer.addresses.push_back(
            {.label = address[0], .street = address[1], .city = address[2]});
    }
    return customer;
}

bool CustomerMapper::update(const Customer& customer, const leasehold::Lease& lease) {
    const auto changed = transaction().change(
        "update customers set name = ?, email = ?, phone = ?, note = ?, "
        "version = version + 1, changed_by = ?, changed_at = ? where id = ? and version = ?",
        {customer.name, customer.email, customer.phone, customer.note, writer_of(lease),
         leasehold::to_string(lease.store_now), customer.id,
         std::to_string(customer.revision.version)});
    if (changed == 0) return false;
    transaction().change("delete from addresses where customer_id = ?", {customer.id});
    int position = 0;
    for (const Address& address : customer.addresses) {
        transaction().change(
            "insert into addresses (customer_id, position, label, street, city) "
            "values (?, ?, ?, ?, ?)",
            {customer.id, std::to_string(++position), address.label, address.street, address.city});
    }
    return true;
}

std::vector<CustomerLine> list_customers(database::Transaction& transaction) {
    std::vector<CustomerLine> lines;
    for (const database::Row& row :
         transaction.query("select c.id, c.name, coalesce(a.city, '') from customers c "
                           "left join addresses a on a.customer_id = c.id and a.position = 1 "
                           "order by c.name, c.id")) {
        lines.push_back({.id = row[0], .name = row[1], .city = row[2]});
    }
    return lines;
}

}  // namespace customers
