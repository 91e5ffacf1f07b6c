#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "commands/answers.hpp"
#include "commands/customer_commands.hpp"

namespace customers {
namespace {

constexpr std::size_t most_marks = 1'000;

std::vector<leasehold::Holder> edited_customers(Visit& visit) {
    return visit.desk.locks
        .list({.type = std::string{LockRule<Customer>::name}, .limit = most_marks})
        .items;
}

}  // namespace

web::Response ListCustomers::process(Visit& visit) {
    const auto holders = edited_customers(visit);
    return web::pages::customer_list(visit.viewer(), visit.work.customer_lines(), holders);
}

web::Response ListMarks::process(Visit& visit) {
    boost::json::object marks;
    for (const leasehold::Holder& holder : edited_customers(visit)) {
        marks[holder.key.id()] = kit::user_of(holder.owner);
    }
    return {.body = boost::json::serialize(marks)};
}

web::Response ViewCustomer::process(Visit& visit) {
    const auto key = key_of<Customer>(visit.request.names.at(0));
    const auto holders = visit.desk.locks.holders(key).items;
    const auto opened = visit.work.customers().open(key, leasehold::Access::read);
    if (!opened || !opened->record) return answers::not_found(visit);
    return web::pages::customer(visit.viewer(), *opened->record, holders, answers::news(visit));
}

}  // namespace customers
