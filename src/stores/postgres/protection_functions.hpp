#pragma once

#include <string_view>

// The functions in the database that protect tables. They belong to the store's role and run with
// its rights (SECURITY DEFINER), so that a role that only writes the application's tables needs no
// right on Leasehold's. Their search path has PostgreSQL's own names only: in the store's schema
// somebody else may be allowed to create a function or an operator that fits better.
//
// Errors: LH001 somebody else holds the key, LH002 the lease is not alive, LH003 a lease is needed,
// LH004 another transaction is using the key.
//
// {schema} is the store's schema, quoted.
namespace leasehold::postgres::sql {

inline constexpr std::string_view protected_tables = R"sql(
create table if not exists {schema}.lock_protected (
    schema_name  text not null,
    table_name   text not null,
    key_template text not null,
    required     boolean not null,
    primary key (schema_name, table_name)
);
)sql";

// "Order/1 is held by alice until ...", or null if the key is free.
inline constexpr std::string_view holder_function = R"sql(
create or replace function {schema}.leasehold_holder(key_type text, key_id text) returns text
language sql stable security definer set search_path = pg_catalog, pg_temp as $function$
select key_type || '/' || key_id || case when shared then ' is shared by ' else ' is held by ' end ||
       case when owner = '' then 'somebody' else owner end ||
       case when holders > 1 then ' and ' || holders - 1 || ' more' else '' end ||
       case when until = 'infinity' then ' until it is released'
            else to_char(until at time zone 'UTC', '" until "YYYY-MM-DD HH24:MI:SS" UTC"') end
from (select false as shared, owner, expiration_time as until, 1 as holders
      from {schema}.locks where type = key_type and id = key_id and mode <> {shared}
                   and ended not in ({endings}) and expiration_time > clock_timestamp()
      union all
      (select true, s.owner, s.expiration_time, (count(*) over ())::integer
       from {schema}.locks l join {schema}.lock_shares s on s.type = l.type and s.id = l.id
       where l.type = key_type and l.id = key_id and l.mode = {shared}
         and l.ended not in ({endings}) and s.expiration_time > clock_timestamp()
       order by s.fence limit 1)) h
$function$;
revoke all on function {schema}.leasehold_holder(text, text) from public;
)sql";

// Whether nobody has leased a key: whether it has no row. Asked by an insert, which fails if there
// is a row that this transaction does not see, and is undone if there is none.
inline constexpr std::string_view free_function = R"sql(
create or replace function {schema}.leasehold_is_free(key_type text, key_id text) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $function$
begin
    insert into {schema}.locks (type, id, lockid, expiration_time)
    values (key_type, key_id, gen_random_uuid()::text, clock_timestamp());
    raise exception 'undo' using errcode = 'LH000';
exception
    when sqlstate 'LH000' then return true;
    when unique_violation then return false;
end
$function$;
revoke all on function {schema}.leasehold_is_free(text, text) from public;
)sql";

// Called for a row that is being written, if its key may be leased.
//  1. Read the key's row. If there is none, nobody has leased the key.
//  2. Refuse if the row is a live lease that this transaction has not presented, or a presented
//     lease that is not alive any more.
//  3. Lock the row at its place, without another search of an index, so that nobody can take the
//     key before this transaction ends. If the row is locked, or changed since step 1, start again.
// A transaction above READ COMMITTED does not see a row that was inserted after its snapshot. If it
// sees none, it asks leasehold_is_free(). Under SERIALIZABLE it asks that first: PostgreSQL ends
// one of two transactions if each of them has read where the other one inserts. Nobody can lease a
// key that is longer than Limits allow.
inline constexpr std::string_view admit_function = R"sql(
create or replace function {schema}.leasehold_admit(key_type text, key_id text, required boolean)
returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $function$
declare
    present constant text := 'Present it in this transaction: select leasehold_guard(type, id, lock id).';
    level constant text := current_setting('transaction_isolation');
    can_be_leased constant boolean :=
        octet_length(key_type) <= {type_bytes} and octet_length(key_id) <= {id_bytes};
    may_have_row boolean := true;
    seen record;
    kept record;
    presented boolean := false;
    alive boolean := false;
begin
    if key_type is null or key_id is null then
        if required then
            raise exception 'leasehold: this row needs a lease, and a column of its key is null'
                using errcode = 'LH003';
        end if;
        return;
    end if;
    if level = 'serializable' and can_be_leased then
        may_have_row := not {schema}.leasehold_is_free(key_type, key_id);
    end if;
    for attempt in 1..case when may_have_row then {attempts} else 0 end loop
        if attempt > 1 then perform pg_sleep({pause_s}); end if;
        select l.ctid as place, l.* into seen from {schema}.locks l where type = key_type and id = key_id;
        if not found then
            if level <> 'read committed' and can_be_leased
               and not {schema}.leasehold_is_free(key_type, key_id) then
                raise exception 'leasehold: %/% was leased after this transaction began; repeat the transaction',
                    key_type, key_id using errcode = 'serialization_failure';
            end if;
            exit;
        end if;
        presented := seen.mode <> {shared} and {has_presented};
        alive := seen.ended not in ({endings}) and seen.expiration_time > clock_timestamp();
        if presented and alive then
            alive := seen.expiration_time >
                     greatest(seen.touched_at, (select time_floor from {schema}.leasehold));
        end if;
        if presented and not alive then
            raise exception 'leasehold: the lease of %/% that this transaction presented has %',
                key_type, key_id,
                case when seen.ended in ({endings}) then 'ended' else 'expired' end
                using errcode = 'LH002';
        end if;
        if alive and not presented and {schema}.leasehold_holder(key_type, key_id) is not null then
            raise exception 'leasehold: %', {schema}.leasehold_holder(key_type, key_id)
                using errcode = 'LH001',
                      hint = case when seen.mode = {shared}
                                  then 'A write needs an exclusive lease.' else present end;
        end if;
        select l.ctid as place, l.* into kept from {schema}.locks l where l.ctid = seen.place
        for share skip locked;
        exit when found and kept is not distinct from seen;
        if attempt = {attempts} then
            raise exception 'leasehold: another transaction is using the lock of %/%; try again in a moment',
                key_type, key_id using errcode = 'LH004';
        end if;
    end loop;
    if required and not (presented and alive) then
        raise exception 'leasehold: a write to %/% needs a lease, and this transaction has presented none',
            key_type, key_id using errcode = 'LH003', hint = present;
    end if;
end
$function$;
revoke all on function {schema}.leasehold_admit(text, text, boolean) from public;
)sql";

// guard() for every language: locks and presents a live, exclusive lease until the transaction
// ends, and returns its fence.
inline constexpr std::string_view guard_function = R"sql(
create or replace function {schema}.leasehold_guard(type text, id text, lock_id text) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $function$
#variable_conflict use_column
declare
    l {schema}.locks%rowtype;
    reason smallint;
    now timestamptz;
begin
    for attempt in 1..{attempts} loop
        if attempt > 1 then perform pg_sleep({pause_s}); end if;
        select * into l from {schema}.locks
        where type = leasehold_guard.type and id = leasehold_guard.id and lockid = lock_id
        for update skip locked;
        exit when found;
        exit when not exists (select from {schema}.locks where type = leasehold_guard.type
                                                  and id = leasehold_guard.id
                                                  and lockid = lock_id);
        if attempt = {attempts} then
            raise exception 'leasehold: another transaction is using the lock of %/%; try again in a moment',
                leasehold_guard.type, leasehold_guard.id using errcode = 'LH004';
        end if;
    end loop;
    now := greatest(clock_timestamp(), l.touched_at, (select time_floor from {schema}.leasehold));
    if l.lockid = lock_id and l.mode <> {shared} and l.ended not in ({endings})
       and l.expiration_time > now then
        perform {present};
        return l.fence;
    end if;
    if exists (select from {schema}.lock_shares where type = leasehold_guard.type
                                         and id = leasehold_guard.id and lockid = lock_id) then
        raise exception 'leasehold: the lease of %/% is shared', leasehold_guard.type,
            leasehold_guard.id using errcode = 'LH002', hint = 'A write needs an exclusive lease.';
    end if;
    reason := case when l.lockid = lock_id and l.ended in ({endings}) then l.ended
                   when l.lockid = lock_id then {expired}
                   else (select ended from {schema}.lock_history
                         where lockid = lock_id and type = leasehold_guard.type
                           and id = leasehold_guard.id
                         order by seq desc limit 1) end;
    raise exception 'leasehold: %', case coalesce(reason, {not_ended}) {gone_sentences} end ||
            coalesce('; ' || {schema}.leasehold_holder(leasehold_guard.type, leasehold_guard.id), '')
        using errcode = 'LH002';
end
$function$;
)sql";

// The trigger of one table for one {event}: {function} is its function, {body} the function's text
// as a literal, {settings} is empty or `truncate_settings`.
inline constexpr std::string_view trigger_function = R"sql(
create or replace function {function}() returns trigger
language plpgsql security definer {settings}as {body};
revoke all on function {function}() from public;
create or replace trigger leasehold_protect_{event} {when} {event} on {table}
    for each {each} execute function {function}();
)sql";

// Every name in it has its schema, because the search path is that of the session that writes: a
// SET would cost every row more than the search for its key.
inline constexpr std::string_view trigger_body = R"sql(
begin
{judge}    return null;
end
)sql";

// Judges the key {type}, {id} of a row. {may_be_leased} is `may_be_leased`, or true if every write
// needs a lease.
inline constexpr std::string_view judge_key = R"sql(    if {may_be_leased} then
        perform {schema}.leasehold_admit({type}, {id}, {required});
    end if;
)sql";
inline constexpr std::string_view may_be_leased =
    R"sql(pg_catalog.current_setting('transaction_isolation') operator(pg_catalog.<>) 'read committed'
       or exists (
        select from {schema}.locks l
        where l.type operator(pg_catalog.=) ({type}) collate pg_catalog."C"
          and l.id operator(pg_catalog.=) ({id}) collate pg_catalog."C")
)sql";
// Only if an update changes the key from {old_type}, {old_id}.
inline constexpr std::string_view judge_changed_key =
    R"sql(    if (({type}) collate pg_catalog."C" operator(pg_catalog.=) ({old_type}) collate pg_catalog."C"
        and ({id}) collate pg_catalog."C" operator(pg_catalog.=) ({old_id}) collate pg_catalog."C")
       is not true then
{judge}    end if;
)sql";
// A TRUNCATE, for each row of the table. A policy of the table would be code of the table's owner
// that runs with the rights of the store's role, and so would a view that has the name which the
// table had.
inline constexpr std::string_view truncate_settings =
    "set search_path = pg_catalog, pg_temp set row_security = off ";
inline constexpr std::string_view judge_table = R"sql(    declare
        key record;
    begin
        for key in execute {rows} || tg_relid::regclass::text || ' r' loop
            perform {schema}.leasehold_admit(key.type, key.id, {required});
        end loop;
    end;
)sql";

}  // namespace leasehold::postgres::sql
