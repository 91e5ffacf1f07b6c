#include "web/paths.hpp"

#include "domain/lock_rules.hpp"
#include "web/percent.hpp"

namespace customers::web {

std::string page_of(const leasehold::LockKey& key) {
    if (key.type() == LockRule<PriceList>::name) return "/price-list";
    if (key.type() == LockRule<Counter>::name) return "/counter";
    if (key.type() == LockRule<Customer>::name) return "/customers/" + encode_percent(key.id());
    return "/customers";
}

}  // namespace customers::web
