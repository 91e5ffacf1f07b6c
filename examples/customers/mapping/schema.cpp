#include "mapping/schema.hpp"

#include <array>
#include <string>

#include "domain/lock_rules.hpp"

namespace customers {
namespace {

// Name, e-mail, phone, note, street, city. The ids count from 1.
constexpr std::array<std::array<const char*, 6>, 8> sample_customers{{
    {"Ahn & Daughters", "office@ahn.example", "+82 2 555 0101",
     "Pays on time. Wants paper invoices.", "18 Sejong-daero", "Seoul"},
    {"Baker Street Books", "hello@bakerbooks.example", "+44 20 5550 0221", "", "221 Baker Street",
     "London"},
    {"Café Zwölf", "post@zwoelf.example", "+43 1 555 0112", "Closed on Mondays.", "Ringstraße 12",
     "Wien"},
    {"Delta Pumps", "orders@delta.example", "+1 312 555 0144", "", "900 Harbor Drive", "Chicago"},
    {"Eastern Tea", "leaf@easterntea.example", "+81 3 5550 0155", "Ask for Ms. Sato about samples.",
     "5-2 Ginza", "Tokyo"},
    {"김밥천국 종로점", "jongno@gimbap.example", "+82 2 555 0166", "점심시간에는 전화하지 않기",
     "종로 33", "서울"},
    {"Gardens of Lyon", "bonjour@jardins.example", "+33 4 55 50 01 77", "", "3 rue des Lilas",
     "Lyon"},
    {"Hansen Fisk", "kontakt@hansen.example", "+47 55 50 01 88",
     "Delivers before six in the morning.", "Bryggen 8", "Bergen"},
}};

// Item, cents.
constexpr std::array<std::array<const char*, 2>, 4> sample_prices{{{"Notebook, lined", "450"},
                                                                   {"Notebook, plain", "420"},
                                                                   {"Fountain pen", "3900"},
                                                                   {"Ink, blue-black", "890"}}};

// The revision of the sample data.
constexpr const char* nobody = "Leasehold";
constexpr const char* long_ago = "2026-01-01T09:00:00.000000Z";

}  // namespace

void make_tables(database::Connection& connection) {
    const std::string revision =
        "version bigint not null, changed_by varchar(200) not null, changed_at varchar(40) not "
        "null";
    const auto table = [&](const std::string& name, const std::string& columns) {
        connection.run("create table if not exists " + name + " (" + columns + ")" +
                       connection.table_options());
    };
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
    int id = 0;
    for (const auto& [name, email, phone, note, street, city] : sample_customers) {
        connection.run("insert into customers values (?, ?, ?, ?, ?, 1, ?, ?)",
                       {std::to_string(++id), name, email, phone, note, nobody, long_ago});
        connection.run("insert into addresses values (?, 1, 'Office', ?, ?)",
                       {std::to_string(id), street, city});
    }
    connection.run("insert into price_lists values (?, 1, ?, ?)",
                   {standard_prices, nobody, long_ago});
    int position = 0;
    for (const auto& [item, cents] : sample_prices) {
        connection.run("insert into prices values (?, ?, ?, ?)",
                       {standard_prices, std::to_string(++position), item, cents});
    }
    connection.run("insert into counters values (?, 1001, 1, ?, ?)",
                   {invoice_numbers, nobody, long_ago});
    connection.commit();
}

void protect_tables(leasehold::TableProtection& protection) {
    const auto protect = [&](const char* table, const std::string& key) {
        (void)protection.protect({.name = table, .key = key});
    };
    protect("customers", lock_rule<Customer>.type + "/{id}");
    protect("addresses", lock_rule<Customer>.type + "/{customer_id}");
    protect("price_lists", lock_rule<PriceList>.type + "/{id}");
    protect("prices", lock_rule<PriceList>.type + "/{list_id}");
    protect("counters", lock_rule<Counter>.type + "/{id}");
}

}  // namespace customers
