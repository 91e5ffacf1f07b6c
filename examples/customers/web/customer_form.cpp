#include "web/customer_form.hpp"

#include "domain/text.hpp"
#include "web/numbers.hpp"

namespace customers::web {
namespace {

std::string prefix_of(std::size_t position) {
    return "address." + std::to_string(position) + '.';
}

}  // namespace

Fields fields_of(const Customer& customer) {
    Fields fields;
    fields.add("version", std::to_string(customer.revision.version));
    fields.add("name", customer.name);
    fields.add("email", customer.email);
    fields.add("phone", customer.phone);
    fields.add("note", customer.note);
    std::size_t position = 0;
    for (const Address& address : customer.addresses) {
        const std::string prefix = prefix_of(++position);
        fields.add(prefix + "label", address.label);
        fields.add(prefix + "street", address.street);
        fields.add(prefix + "city", address.city);
    }
    return fields;
}

Customer customer_from(const Fields& fields, const std::string& id) {
    Customer customer{.id = id,
                      .name = tidy(fields.get("name")),
                      .email = tidy(fields.get("email")),
                      .phone = tidy(fields.get("phone")),
                      .note = tidy(fields.get("note"))};
    customer.revision.version = integer_from(fields.get("version")).value_or(0);
    for (std::size_t position = 1; position <= Customer::most_addresses; ++position) {
        const std::string prefix = prefix_of(position);
        Address address{.label = tidy(fields.get(prefix + "label")),
                        .street = tidy(fields.get(prefix + "street")),
                        .city = tidy(fields.get(prefix + "city"))};
        if (!address.is_empty()) customer.addresses.push_back(std::move(address));
    }
    return customer;
}

}  // namespace customers::web
