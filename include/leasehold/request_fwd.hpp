#pragma once

#include <variant>
#include <vector>

// The names of all requests and answers; <leasehold/request.hpp> says what is in them.
namespace leasehold {

struct TryLock;
struct TryLockAll;
struct Check;
struct Extend;
struct Renew;
struct Release;
struct ReleaseAll;
struct Break;
struct Holders;
struct List;
struct History;
struct Purge;

using Request = std::variant<TryLock, TryLockAll, Check, Extend, Renew, Release, ReleaseAll, Break,
                             Holders, List, History, Purge>;

struct Lease;
struct Holder;
struct PastLease;
struct Purged;
struct Refusal;
class StoreFault;
template <class T>
struct Page;

// The answer to a request, by its kind:
//   TryLock, Check, Extend, Renew, Release, Break   Lease (for Break, without its lock id)
//   TryLockAll, ReleaseAll                          std::vector<Lease>
//   Holders, List                                   Page<Holder>
//   History                                         Page<PastLease>
//   Purge                                           Purged
// or a Refusal, or a StoreFault that concerns this request alone. std::monostate: not answered yet.
using Outcome = std::variant<std::monostate, Lease, std::vector<Lease>, Page<Holder>,
                             Page<PastLease>, Purged, Refusal, StoreFault>;

}  // namespace leasehold
