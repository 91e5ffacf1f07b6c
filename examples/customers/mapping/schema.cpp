#include "mapping/schema.hpp"

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "domain/lock_rules.hpp"

namespace customers {
namespace {

constexpr std::string_view revision_columns =
    "version bigint not null, changed_by varchar(200) not null, changed_at varchar(40) not null";

struct Sample {
    std::string_view id, name, email, phone, note, street, city;
};

constexpr std::array samples{
    Sample{"1", "Ahn & Daughters", "office@ahn.example", "+82 2 555 0101",
           "Pays on time. Wants paper invoices.", "18 Sejong-daero", "Seoul"},
    Sample{"2", "Baker Street Books", "hello@bakerbooks.example", "+44 20 5550 0221", "",
           "221 Baker Street", "London"},
    Sample{"3", "Café Zwölf", "post@zwoelf.example", "+43 1 555 0112", "Closed on Mondays.",
           "Ringstraße 12", "Wien"},
    Sample{"4", "Delta Pumps", "orders@delta.example", "+1 312 555 0144", "", "900 Harbor Drive",
           "Chicago"},
    Sample{"5", "Eastern Tea", "leaf@easterntea.example", "+81 3 5550 0155",
           "Ask for Ms. Sato about samples.", "5-2 Ginza", "Tokyo"},
    Sample{"6", "김밥천국 종로점", "jongno@gimbap.example", "+82 2 555 0166",
           "점심시간에는 전화하지 않기", "종로 33", "서울"},
    Sample{"7", "Gardens of Lyon", "bonjour@jardins.example", "+33 4 55 50 01 77", "",
           "3 rue des Lilas", "Lyon"},
    Sample{"8", "Hansen Fisk", "kontakt@hansen.example", "+47 55 50 01 88",
           "Delivers before six in the morning.", "Bryggen 8", "Bergen"},
};

struct SamplePrice {
    std::string_view item, cents;
};

constexpr std::array sample_prices{
    SamplePrice{"Notebook, lined", "450"}, SamplePrice{"Notebook, plain", "420"},
    SamplePrice{"Fountain pen", "3900"}, SamplePrice{"Ink, blue-black", "890"}};

constexpr std::string_view nobody = "Leasehold";
constexpr std::string_view long_ago = "2026-01-01T09:00:00.000000Z";

}  // namespace

void make_tables(database::Connection& connection) {
    const auto table = [&](std::string_view name, const std::string& columns) {
        connection.run("create table if not exists " + std::string{name} + " (" + columns + ")" +
                       connection.table_options());
    };
    const std::string revision{revision_columns};
    table("customers",
          "id varchar(20) primary key, name varchar(200) not null, email varchar(200) not null, "
          "phone varchar(200) not null, note varchar(2000) not null, " +
              revision);
    table("addresses",
          "customer_id varchar(20) not null references customers (id), position integer not null, "
          "label varchar(200) not null, street varchar(200) not null, city varchar(200) not null, "
          "primary key (customer_id, position)");
    table("price_lists", "id varchar(20) primary key, " + revision);
    table("prices",
          "list_id varchar(20) not null references price_lists (id), position integer not null, "
          "item varchar(200) not null, cents bigint not null, primary key (list_id, position)");
    table("counters", "id varchar(20) primary key, next_number bigint not null, " + revision);
}

void add_sample_data(database::Connection& connection) {
    connection.begin(database::Purpose::writing);
    if (!connection.run("select id from price_lists where id = ?", {standard_prices})
             .rows.empty()) {
        connection.roll_back();
        return;
    }
    const std::string by{nobody};
    const std::string at{long_ago};
    for (const Sample& sample : samples) {
        const std::string id{sample.id};
        connection.run(
            "insert into customers (id, name, email, phone, note, version, changed_by, changed_at) "
            "values (?, ?, ?, ?, ?, 1, ?, ?)",
            {id, std::string{sample.name}, std::string{sample.email}, std::string{sample.phone},
             std::string{sample.note}, by, at});
        connection.run(
            "insert into addresses (customer_id, position, label, street, city) "
            "values (?, 1, 'Office', ?, ?)",
            {id, std::string{sample.street}, std::string{sample.city}});
    }
    connection.run(
        "insert into price_lists (id, version, changed_by, changed_at) values (?, 1, ?, ?)",
        {standard_prices, by, at});
    int position = 0;
    for (const SamplePrice& price : sample_prices) {
        connection.run("insert into prices (list_id, position, item, cents) values (?, ?, ?, ?)",
                       {standard_prices, std::to_string(++position), std::string{price.item},
                        std::string{price.cents}});
    }
    connection.run(
        "insert into counters (id, next_number, version, changed_by, changed_at) "
        "values (?, 1001, 1, ?, ?)",
        {invoice_numbers, by, at});
    connection.commit();
}

void protect_tables(leasehold::TableProtection& protection) {
    const auto protect = [&](std::string table, std::string_view type, std::string_view id) {
        (void)protection.protect({.name = std::move(table),
                                  .key = std::string{type}.append("/{").append(id).append("}")});
    };
    protect("customers", LockRule<Customer>::name, "id");
    protect("addresses", LockRule<Customer>::name, "customer_id");
    protect("price_lists", LockRule<PriceList>::name, "id");
    protect("prices", LockRule<PriceList>::name, "list_id");
    protect("counters", LockRule<Counter>::name, "id");
}

}  // namespace customers
