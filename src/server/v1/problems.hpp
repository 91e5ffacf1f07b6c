#pragma once

#include <boost/json/object.hpp>

#include <cstddef>
#include <string>
#include <string_view>

#include <leasehold/store.hpp>

#include "server/http/message.hpp"
#include "server/http/problem.hpp"

// How the native protocol writes errors: RFC 9457 problem documents with a stable code.
namespace leasehold::server::v1 {

// Only `detail` is in the language that the client prefers.
[[nodiscard]] Reply reply_to(const Problem& problem, Language preferred);
[[nodiscard]] Reply reply_to(const Refusal& refusal, Language preferred);
[[nodiscard]] Reply reply_to(const StoreFault& fault);

}  // namespace leasehold::server::v1
