#pragma once

#include <string_view>

// How a transaction shows that it has presented a lease: the setting `leasehold.presented`, local
// to the transaction, is "<transaction id> <hash> <hash> ...", with a hash for each presented lock
// id. It ends with the transaction, and with a rollback to a savepoint that is older than the
// guard. The transaction id makes a setting that somebody set for a whole session worthless.
namespace leasehold::postgres::sql {

// Presents the lock id {lock_id}. Gives the setting's new value.
inline constexpr std::string_view present = R"((
select set_config('leasehold.presented',
                  case when not starts_with(was, xid || ' ') then xid || ' ' || hash
                       when strpos(was, hash) > 0 then was
                       else was || ' ' || hash end, true)
from (select coalesce(current_setting('leasehold.presented', true), '') as was,
             pg_current_xact_id()::text as xid,
             encode(sha256(convert_to({lock_id}, 'UTF8')), 'hex') as hash) p))";

// Whether this transaction has presented the lock id {lock_id}.
inline constexpr std::string_view has_presented = R"(coalesce(
    starts_with(current_setting('leasehold.presented', true),
                pg_current_xact_id_if_assigned()::text || ' ')
    and strpos(current_setting('leasehold.presented', true),
               encode(sha256(convert_to({lock_id}, 'UTF8')), 'hex')) > 0, false))";

}  // namespace leasehold::postgres::sql
