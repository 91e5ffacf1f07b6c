#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "server/openapi_schema.hpp"

namespace leasehold::testing {

// Takes the requests apart that a client has sent on one connection, to know which of them an
// answer belongs to. Bytes that are not a request, which tests send on purpose, are an unreadable
// request, and so is everything after them.
class SentRequests {
public:
    void add(std::string_view bytes);
    // The next request that was not returned before. The body is empty if it was not sent in full.
    [[nodiscard]] DescribedRequest next();

private:
    [[nodiscard]] DescribedRequest unreadable();
    void take_body(std::string_view header, DescribedRequest& request);
    void take_chunks(DescribedRequest& request);

    std::string unread_;
    std::size_t skip_ = 0;  // bytes of a body that are still to be sent
    bool lost_ = false;     // nothing can be told apart any more
};

}  // namespace leasehold::testing
