#include "web/paths.hpp"

#include <leasehold/web/http.hpp>

#include "domain/lock_rules.hpp"

namespace customers::web {

std::string page_of(const leasehold::LockKey& key) {
    if (key.type() == LockRule<PriceList>::name) return "/price-list";
    if (key.type() == LockRule<Counter>::name) return "/counter";
    if (key.type() == LockRule<Customer>::name)
        return "/customers/" + leasehold::web::encode_url(key.id());
    return "/customers";
}

}  // namespace customers::web
