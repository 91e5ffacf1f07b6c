#include "mapping/mapper.hpp"

#include <leasehold/web/visitor.hpp>

#include <charconv>
#include <string_view>

namespace customers {
namespace {

using database::Parameters;
using database::Row;

// A number as the database wrote it.
std::int64_t number_from(const std::string& text) {
    std::int64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

// From the fields version, changed_by, changed_at, which are the first.
Revision revision_from(const Row& row) {
    return {.version = number_from(row[0]), .changed_by = row[1], .changed_at = row[2]};
}

std::vector<Row> query(database::Transaction& transaction, std::string_view sql,
                       const Parameters& parameters = {}) {
    return transaction.reading().run(sql, parameters).rows;
}

// The optimistic check. `update` ends before the columns of the revision.
template <class T>
bool write_next_version(database::Transaction& transaction, const std::string& update,
                        Parameters values, const T& object, const leasehold::Lease& lease) {
    values.insert(values.end(), {std::string{leasehold::web::user_of(lease.owner)},
                                 leasehold::to_string(lease.store_now), object.id,
                                 std::to_string(object.revision.version)});
    const std::string sql = update +
                            "version = version + 1, changed_by = ?, changed_at = ? "
                            "where id = ? and version = ?";
    return transaction.writing().run(sql, values).changed != 0;
}

}  // namespace

template <>
std::optional<Customer> Mapper<Customer>::load(const std::string& id) {
    const auto rows =
        query(transaction_,
              "select version, changed_by, changed_at, name, email, phone, note from customers "
              "where id = ?",
              {id});
    if (rows.empty()) return std::nullopt;
    const Row& row = rows.front();
    Customer customer{.id = id,
                      .name = row[3],
                      .email = row[4],
                      .phone = row[5],
                      .note = row[6],
                      .revision = revision_from(row)};
    for (const Row& address :
         query(transaction_,
               "select label, street, city from addresses where customer_id = ? "
               "order by position",
               {id})) {
        customer.addresses.push_back(
            {.label = address[0], .street = address[1], .city = address[2]});
    }
    return customer;
}

template <>
bool Mapper<Customer>::update(const Customer& customer, const leasehold::Lease& lease) {
    if (!write_next_version(
            transaction_, "update customers set name = ?, email = ?, phone = ?, note = ?, ",
            {customer.name, customer.email, customer.phone, customer.note}, customer, lease)) {
        return false;
    }
    transaction_.writing().run("delete from addresses where customer_id = ?", {customer.id});
    int position = 0;
    for (const Address& address : customer.addresses) {
        transaction_.writing().run(
            "insert into addresses (customer_id, position, label, street, city) "
            "values (?, ?, ?, ?, ?)",
            {customer.id, std::to_string(++position), address.label, address.street, address.city});
    }
    return true;
}

template <>
std::optional<PriceList> Mapper<PriceList>::load(const std::string& id) {
    const auto rows = query(
        transaction_, "select version, changed_by, changed_at from price_lists where id = ?", {id});
    if (rows.empty()) return std::nullopt;
    PriceList list{.id = id, .revision = revision_from(rows.front())};
    for (const Row& row :
         query(transaction_, "select item, cents from prices where list_id = ? order by position",
               {id})) {
        list.prices.push_back({.item = row[0], .cents = number_from(row[1])});
    }
    return list;
}

template <>
bool Mapper<PriceList>::update(const PriceList& list, const leasehold::Lease& lease) {
    if (!write_next_version(transaction_, "update price_lists set ", {}, list, lease)) return false;
    transaction_.writing().run("delete from prices where list_id = ?", {list.id});
    int position = 0;
    for (const Price& price : list.prices) {
        transaction_.writing().run(
            "insert into prices (list_id, position, item, cents) values (?, ?, ?, ?)",
            {list.id, std::to_string(++position), price.item, std::to_string(price.cents)});
    }
    return true;
}

template <>
std::optional<Counter> Mapper<Counter>::load(const std::string& id) {
    const auto rows = query(
        transaction_,
        "select version, changed_by, changed_at, next_number from counters where id = ?", {id});
    if (rows.empty()) return std::nullopt;
    return Counter{
        .id = id, .next = number_from(rows.front()[3]), .revision = revision_from(rows.front())};
}

template <>
bool Mapper<Counter>::update(const Counter& counter, const leasehold::Lease& lease) {
    return write_next_version(transaction_, "update counters set next_number = ?, ",
                              {std::to_string(counter.next)}, counter, lease);
}

std::vector<CustomerLine> list_customers(database::Transaction& transaction) {
    std::vector<CustomerLine> lines;
    for (const Row& row : query(transaction,
                                "select c.id, c.name, coalesce(a.city, '') from customers c "
                                "left join addresses a on a.customer_id = c.id and a.position = 1 "
                                "order by c.name, c.id")) {
        lines.push_back({.id = row[0], .name = row[1], .city = row[2]});
    }
    return lines;
}

}  // namespace customers
