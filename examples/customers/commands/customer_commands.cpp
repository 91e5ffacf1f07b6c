#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <array>

#include "commands/record_commands.hpp"

namespace customers {

template <>
struct Kind<Customer> {
    static std::string id(const Visit& visit) { return visit.request.names.at(0); }
    static Locking<Customer>& records(Visit& visit) { return visit.work.customers(); }
    static std::string title(const Customer& customer, web::Language) { return customer.name; }
};

namespace {

std::vector<leasehold::Holder> edited_customers(Visit& visit) {
    constexpr std::size_t most = 1'000;
    return visit.desk.locks.list({.type = lock_rule<Customer>.type, .limit = most}).items;
}

class ListCustomers final : public Command {
    [[nodiscard]] web::Response process(Visit& visit) override {
        const auto holders = edited_customers(visit);
        return web::pages::customer_list(visit.viewer(), visit.work.customer_lines(), holders);
    }
};

// Who edits which customer, for the list to show it live.
class ListMarks final : public Command {
    [[nodiscard]] web::Response process(Visit& visit) override {
        boost::json::object marks;
        for (const leasehold::Holder& holder : edited_customers(visit)) {
            marks[holder.key.id()] = kit::user_of(holder.owner);
        }
        return {.body = boost::json::serialize(marks)};
    }
};

class ViewCustomer final : public Command {
    [[nodiscard]] web::Response process(Visit& visit) override {
        const auto key = key_of<Customer>(Kind<Customer>::id(visit));
        const auto holders = visit.desk.locks.holders(key).items;
        const auto opened = visit.work.customers().open(key, leasehold::Access::read);
        if (!opened || !opened->record) return visit.not_found();
        return web::pages::customer(visit.viewer(), *opened->record, holders, visit.news());
    }
};

// By a member of the aggregate: the lock is the customer's.
class EditAddress final : public Command {
    [[nodiscard]] web::Response process(Visit& visit) override {
        const auto position = web::integer_from(visit.request.names.at(1));
        if (!position) return visit.not_found();
        return edit<Customer>(
            visit, address_key(Kind<Customer>::id(visit), static_cast<std::size_t>(*position)));
    }
};

}  // namespace

std::span<const Route> customer_commands() {
    static constexpr std::array routes{
        Route{"GET", "/customers", make<ListCustomers>},
        Route{"GET", "/customers/marks", make<ListMarks>, false},
        Route{"GET", "/customers/*", make<ViewCustomer>},
        Route{"GET", "/customers/*/edit", make<Edit<Customer>>},
        Route{"POST", "/customers/*/edit", make<Edit<Customer>>},
        Route{"POST", "/customers/*/addresses/*/edit", make<EditAddress>},
        Route{"POST", "/customers/*/reopen", make<Reopen<Customer>>},
        Route{"POST", "/customers/*/save", make<Save<Customer>>},
        Route{"POST", "/customers/*/cancel", make<Leave<Customer>>}};
    return routes;
}

}  // namespace customers
