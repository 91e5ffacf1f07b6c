#pragma once

#include <array>
#include <string_view>

// The routines in the database that protect tables. They run with the rights of the user who
// installed them (SQL SECURITY DEFINER, the default), as the triggers do, so that a user who only
// writes the application's tables needs no right on Leasehold's.
//
// {version} is a comment with a hash of the routine's text: a routine that is current is not
// replaced.
//
// SQL states: LH001 somebody else holds the key, LH002 the lease is not alive, LH003 a lease is
// needed, LH004 another transaction is using the key, LH005 a temporary table hides the locks,
// LH006 MySQL does not count transactions.
//
// A row of lock_presented says in which transaction the lease of a key was last presented. The row
// is rolled back with the guard; after a commit it stays, and means nothing, because no transaction
// has the same number again. It goes with the key's row in `locks`.
//
// How InnoDB locks what a trigger reads:
//  - A subquery in an expression locks its rows, and gaps. SELECT ... INTO does not. A LIMIT of its
//    own saves it from the session's sql_select_limit.
//  - InnoDB locks a table once per alias in a trigger, with the strongest lock that any statement
//    needs under that alias. So a plain read and a locking read of `locks` use different aliases,
//    `looked` and `locked`.
//  - Every statement on a protected table opens all tables that its triggers may need, once per
//    alias. So they need few.
//  - SKIP LOCKED has no effect. A lock that cannot be had within innodb_lock_wait_timeout ends the
//    statement, whatever a handler says.
//
// A temporary table hides the table of the same name from triggers and routines, too. Every user
// with CREATE TEMPORARY TABLES could thus show them other leases. So every table that they read has
// a row with a secret, and every judgement of a write looks for that row, too:
//  - {proof} is the SHA-256 of the secret. It is no secret itself: the statements of a routine
//    appear in the list of processes.
//  - One look is enough for all reads of the table by one trigger: nothing in it can make a
//    temporary table. Between two triggers of a row, and between two rows, a function of the
//    statement can.
//  - Views would show the real tables, and cost more: the server parses every view that a trigger
//    may need for every statement. On MariaDB, LOCK TABLES tells their names to a user who may not
//    see them, and a temporary table with the name of a view can crash the server.
namespace leasehold::mariadb::sql {

// Looks into {table} for the secret in {column} of the row {where}.
inline constexpr std::string_view require_real = R"sql(
    select count(*) into proofs from {table} as looked
    where {where} and sha2({column}, 256) = {proof} limit 1;
    if proofs = 0 then
        signal sqlstate 'LH005' set message_text =
            'leasehold: a temporary table hides the table {table}; drop it';
    end if;
)sql";
struct Proof {
    std::string_view table, column, where;
};
inline constexpr std::array proofs{
    Proof{"locks", "note", "type = x'00' and id = x'00'"},
    Proof{"lock_shares", "note", "type = x'00' and id = x'00' and lockid = '!'"},
    Proof{"lock_presented", "transaction", "type = x'00' and id = x'00'"},
    Proof{"lock_transactions", "proof", "connection = 0"},
    // The name has the secret: the value is a number.
    Proof{"leasehold", "substr(name, 7)", "name >= 'proof ' and name < 'proof!'"}};

inline constexpr std::string_view protected_tables = R"sql(
create table if not exists lock_protected (
    table_name   varchar(64) character set utf8mb4 collate utf8mb4_bin not null primary key,
    key_template varchar(1000) character set utf8mb4 collate utf8mb4_bin not null,
    required     tinyint not null
) engine = InnoDB row_format = dynamic
)sql";

inline constexpr std::string_view presented_table = R"sql(
create table if not exists lock_presented (
    type        varbinary(128) not null,
    id          varbinary(512) not null,
    transaction varbinary(64) not null,
    primary key (type, id),
    foreign key (type, id) references locks (type, id) on delete cascade on update cascade
) engine = InnoDB row_format = dynamic
)sql";

// The name of the caller's transaction, or null outside one. No other transaction ever has it.
// MariaDB shows its number to SQL only in the columns of a system-versioned table: the row is
// written, read and deleted again, which leaves no history.
inline constexpr std::string_view mariadb_transactions_table = R"sql(
create table if not exists lock_transactions (
    connection bigint unsigned not null primary key,
    proof      varbinary(64) not null default '',
    started    bigint unsigned generated always as row start,
    ended      bigint unsigned generated always as row end,
    period for system_time (started, ended)
) engine = InnoDB row_format = dynamic with system versioning
)sql";
inline constexpr std::string_view mariadb_transaction_function = R"sql(
create function leasehold_transaction() returns varbinary(64)
reads sql data {version}
begin
    declare number bigint unsigned default null;
    declare proofs bigint default 0;
    if @@in_transaction = 0 and @@autocommit = 1 then return null; end if;
{require_real lock_transactions}
    insert into lock_transactions (connection) values (connection_id());
    select max(started) into number from lock_transactions as looked
    where connection = connection_id() limit 1;
    delete from lock_transactions where connection = connection_id();
    return number;
end
)sql";
// MySQL counts the transactions of a connection in the performance schema. The time since the
// server's start distinguishes transactions before a restart from later ones. Empty in a statement
// that is its own transaction: a trigger that gets null knows that transactions are not counted.
inline constexpr std::string_view mysql_transaction_function = R"sql(
create function leasehold_transaction() returns varbinary(64)
reads sql data {version}
begin
    declare name varbinary(64) default null;
    declare continue handler for not found set name = null;
    select if(autocommit = 'NO', concat(thread_id, ':', event_id, ':', timer_start), '') into name
    from performance_schema.events_transactions_current
    where thread_id = ps_current_thread_id() and state = 'ACTIVE';
    return name;
end
)sql";

// A row that is no lease, on a key that Leasehold never uses, lists or purges. Its lock id `!`
// sorts before every other, so a failed insert locks no gap that a real lock id falls into. Its
// note is the secret of this database.
inline constexpr std::string_view probe_row =
    "insert ignore into locks (type, id, lockid, expiration_time) values (x'00', x'00', '!', "
    "{date_of_never})";
inline constexpr std::string_view set_secret =
    "update locks set note = {secret} where type = x'00' and id = x'00' and note = ''";
inline constexpr std::string_view secret =
    "select note from locks where type = x'00' and id = x'00'";
// The same secret in the other tables.
inline constexpr std::array<std::string_view, 4> spread_secret{
    "replace into lock_shares (type, id, lockid, expiration_time, owner, fence, granted_at, note) "
    "select type, id, lockid, 0, '', 0, 0, note from locks "
    "where type = x'00' and id = x'00'",
    "replace into lock_presented select type, id, note from locks "
    "where type = x'00' and id = x'00'",
    "delete from leasehold where name >= 'proof ' and name < 'proof!'",
    "insert into leasehold select concat('proof ', note), 0 from locks "
    "where type = x'00' and id = x'00'",
};
inline constexpr std::string_view mariadb_spread_secret =
    "replace into lock_transactions (connection, proof) select 0, note from locks "
    "where type = x'00' and id = x'00'";

// The store's clock, as it is now and not when the statement began.
inline constexpr std::string_view mariadb_clock_function = R"sql(
create function leasehold_clock() returns bigint
reads sql data {version}
begin
    declare clock bigint;
    set statement time_zone = '+00:00' for
        select cast(unix_timestamp(sysdate(6)) * 1000000 as signed) into clock;
    return clock;
end
)sql";
inline constexpr std::string_view mysql_clock_function = R"sql(
create function leasehold_clock() returns bigint
reads sql data {version}
begin
    declare clock bigint;
    select /*+ SET_VAR(time_zone = '+00:00') */
        cast(unix_timestamp(sysdate(6)) * 1000000 as signed) into clock;
    return clock;
end
)sql";

// How far east of UTC the dates in `locks` are, in microseconds.
inline constexpr std::string_view zone_function = R"sql(
create function leasehold_zone() returns bigint
reads sql data {version}
begin
    declare zone, proofs bigint default 0;
{require_real leasehold}
    select max(value) into zone from leasehold as looked where name = 'zone' limit 1;
    return zone;
end
)sql";

inline constexpr std::string_view presented_function = R"sql(
create function leasehold_presented(key_type varbinary(1024), key_id varbinary(1024))
returns boolean
reads sql data {version}
begin
    declare presenting varbinary(64) default null;
    declare proofs bigint default 0;
{require_real lock_presented}
    select max(transaction) into presenting from lock_presented as looked
    where type = key_type and id = key_id limit 1;
    return presenting is not null and presenting <=> leasehold_transaction();
end
)sql";

// "Order/1 is held by alice until ...", never null: MySQL gives null for bytes that are no text, as
// another program may have written them. A message of an error has room for 128 letters.
inline constexpr std::string_view sentence_function = R"sql(
create function leasehold_sentence(
    key_type varbinary(1024), key_id varbinary(1024), row_mode tinyint, row_owner varbinary(512),
    row_expires bigint, holders bigint) returns varchar(200) character set utf8mb4
deterministic no sql {version}
return concat(
    ifnull(left(convert(concat(key_type, '/', key_id) using utf8mb4), 40), 'the key'),
    if(row_mode = {shared}, ' is shared by ', ' is held by '),
    if(row_owner = '', 'somebody', ifnull(left(convert(row_owner using utf8mb4), 30), 'somebody')),
    if(holders > 1, concat(' and ', holders - 1, ' more'), ''),
    if(row_expires = {never}, ' until it is released',
       date_format(date_add('1970-01-01', interval row_expires microsecond),
                   ' until %Y-%m-%d %H:%i:%s UTC')))
)sql";

// The same about the leases that share a key, or null if there are none. A statement under READ
// COMMITTED sees only the leases that were granted before it began, so it has to look again.
inline constexpr std::string_view sharers_function = R"sql(
create function leasehold_sharers(key_type varbinary(1024), key_id varbinary(1024))
returns varchar(200) character set utf8mb4
reads sql data {version}
begin
    declare clock bigint default leasehold_clock();
    declare row_owner varbinary(512);
    declare row_expires, holders, proofs bigint default 0;
    declare continue handler for not found set holders = 0;
{require_real lock_shares}
    select owner, expiration_time, count(*) over () into row_owner, row_expires, holders
    from lock_shares as looked
    where type = key_type and id = key_id and expiration_time > clock order by fence limit 1;
    if holders = 0 and {isolation} in ('READ-COMMITTED', 'READ-UNCOMMITTED') then
        select owner, expiration_time, 1 into row_owner, row_expires, holders
        from lock_shares as locked
        where type = key_type and id = key_id and expiration_time > clock
        order by fence limit 1 {for_share};
    end if;
    if holders = 0 then return null; end if;
    return leasehold_sentence(key_type, key_id, {shared}, row_owner, row_expires, holders);
end
)sql";

// Refuses a write under the row of `locks` that was read.
inline constexpr std::string_view judge_procedure = R"sql(
create procedure leasehold_judge(
    in key_type varbinary(1024), in key_id varbinary(1024), in required boolean,
    in row_ended tinyint, in row_mode tinyint, in row_expires bigint, in row_touched bigint,
    in row_owner varbinary(512))
reads sql data {version}
begin
    declare message varchar(200) character set utf8mb4;
    declare named varchar(64) character set utf8mb4
        default ifnull(left(convert(concat(key_type, '/', key_id) using utf8mb4), 40), 'the key');
    declare presented boolean default row_mode <> {shared} and leasehold_presented(key_type, key_id);
    declare alive boolean default row_ended not in ({endings}) and
        row_expires > greatest(leasehold_clock(), if(presented, row_touched, 0));
    if presented and not alive then
        set message = concat('leasehold: the lease of ', named, ' that this transaction presented has ',
                             if(row_ended in ({endings}), 'ended', 'expired'));
        signal sqlstate 'LH002' set message_text = message;
    end if;
    if alive and not presented then
        set message = concat('leasehold: ', if(row_mode = {shared},
            leasehold_sharers(key_type, key_id),
            leasehold_sentence(key_type, key_id, row_mode, row_owner, row_expires, 1)));
        -- A shared lease may have been granted after this transaction's snapshot.
        if message is null and {fixed_snapshot} then
            set message = concat('leasehold: ', leasehold_sentence(
                key_type, key_id, row_mode, row_owner, row_expires, 1));
        end if;
        if message is not null then
            set message = left(message, 128);
            signal sqlstate 'LH001' set message_text = message;
        end if;
    end if;
    if required and not (presented and alive) then
        set message = left(concat('leasehold: a write to ', named,
            ' needs a lease, and this transaction has presented none'), 128);
        signal sqlstate 'LH003' set message_text = message;
    end if;
end
)sql";

// Locks the row of a key, if there is one, and reads it. The caller knows that the table is real.
inline constexpr std::string_view share_procedure = R"sql(
create procedure leasehold_share(
    in zone bigint, in key_type varbinary(1024), in key_id varbinary(1024), out found boolean,
    out row_ended tinyint, out row_mode tinyint, out row_expires bigint, out row_touched bigint,
    out row_owner varbinary(512))
reads sql data {version}
begin
    declare continue handler for not found set found = false;
    set found = true;
    select ended, mode, {expires}, touched_at, owner
    into row_ended, row_mode, row_expires, row_touched, row_owner
    from locks as locked where type = key_type and id = key_id limit 1 {for_share};
end
)sql";

// The same for leasehold_guard, and whether the row has this lock id.
inline constexpr std::string_view lock_procedure = R"sql(
create procedure leasehold_lock(
    in zone bigint, in key_type varbinary(1024), in key_id varbinary(1024), in lock_id varbinary(1024),
    out is_mine boolean, out row_ended tinyint, out row_mode tinyint, out row_expires bigint,
    out row_touched bigint, out row_fence bigint)
reads sql data {version}
begin
    declare continue handler for not found set is_mine = false;
    select lockid = lock_id, ended, mode, {expires}, touched_at, fence
    into is_mine, row_ended, row_mode, row_expires, row_touched, row_fence
    from locks as locked where type = key_type and id = key_id limit 1 for update;
end
)sql";

// Called for a row that is being written, if its key may be leased.
//  1. Read the key's row. If there is none, nobody had leased the key when the statement began.
//  2. Refuse if the row is a live lease that this transaction has not presented, or a presented
//     lease that is not alive any more.
//  3. Lock the row, so that nobody can take the key before this transaction ends, and judge it
//  again.
// Under READ COMMITTED, step 3 also finds a row that was inserted since the statement began. It
// locks nothing where there is none. A transaction that repeats its reads does not see a row that
// was inserted after its snapshot, and a locking read would lock the gap where it sees none, which
// keeps others from taking new keys. So it looks for such a row by an insert, see
// RoutineWords::look_for_unseen. Where the session has another level than the transaction, the
// locking read keeps others from taking new keys, and misses nothing.
inline constexpr std::string_view admit_procedure = R"sql(
create procedure leasehold_admit(
    in key_type varbinary(1024), in key_id varbinary(1024), in required boolean)
modifies sql data {version}
admitting: begin
    declare row_ended, row_mode tinyint;
    declare row_expires, row_touched bigint;
    declare row_owner varbinary(512);
    declare message varchar(1000) character set utf8mb4;
    declare found boolean default true;
    declare repeats boolean default null;
    declare zone, proofs bigint default 0;
    declare continue handler for not found set found = false;
    if key_type is null or key_id is null then
        if required then
            signal sqlstate 'LH003' set message_text =
                'leasehold: this row needs a lease, and a column of its key is null';
        end if;
        leave admitting;
    end if;
{require_real locks}
    set zone = leasehold_zone();
    select ended, mode, {expires}, touched_at, owner
    into row_ended, row_mode, row_expires, row_touched, row_owner
    from locks as looked where type = key_type and id = key_id limit 1;
    if found then
        call leasehold_judge(key_type, key_id, required, row_ended, row_mode, row_expires,
                             row_touched, row_owner);
    elseif {isolation} in ('REPEATABLE-READ', 'SERIALIZABLE') then
        {set_repeats}
        if repeats is null then
            signal sqlstate 'LH006' set message_text =
                'leasehold: the performance schema does not count transactions; see leasehold doctor';
        end if;
        if repeats and length(key_type) <= 128 and length(key_id) <= 512 then
{look_for_unseen}        end if;
    else
        set found = true;
    end if;
    if found then
        {not_waiting}
        call leasehold_share(zone, key_type, key_id, found, row_ended, row_mode, row_expires,
                             row_touched, row_owner);
    end if;
    if found then
        call leasehold_judge(key_type, key_id, required, row_ended, row_mode, row_expires,
                             row_touched, row_owner);
    elseif required then
        call leasehold_judge(key_type, key_id, required, {released}, {exclusive}, 0, 0, '');
    end if;
end
)sql";

// guard() for every language: locks and presents a live, exclusive lease until the transaction
// ends, and returns its fence.
inline constexpr std::string_view guard_function = R"sql(
create function leasehold_guard(
    key_type varbinary(1024), key_id varbinary(1024), lock_id varbinary(1024)) returns bigint
reads sql data {version}
begin
    declare row_ended, row_mode tinyint;
    declare row_expires, row_touched, row_fence, time_floor, shares, zone, proofs bigint default 0;
    declare row_owner varbinary(512);
    declare reason tinyint default null;
    declare presenting varbinary(64) default leasehold_transaction();
    declare found, is_mine boolean default true;
    declare message varchar(400) character set utf8mb4;
    declare continue handler for not found set found = false;
    if ifnull(presenting, '') = '' then
        signal sqlstate 'LH002' set message_text =
            'leasehold: leasehold_guard needs an open transaction; begin one with START TRANSACTION';
    end if;
    if key_type = x'00' then
        signal sqlstate 'LH002' set message_text = 'leasehold: nobody can lease this key';
    end if;
{require_real locks}
    set zone = leasehold_zone();
    select lockid = lock_id, mode, {expires}, owner into is_mine, row_mode, row_expires, row_owner
    from locks as looked where type = key_type and id = key_id limit 1;
    set is_mine = found and is_mine;
    if is_mine then
        {waiting_briefly}
        call leasehold_lock(zone, key_type, key_id, lock_id, is_mine, row_ended, row_mode, row_expires,
                            row_touched, row_fence);
    end if;
    select max(value) into time_floor from leasehold as looked where name = 'time_floor' limit 1;
    if is_mine and row_mode <> {shared} and row_ended not in ({endings})
       and row_expires > greatest(leasehold_clock(), row_touched, time_floor) then
        insert into lock_presented values (key_type, key_id, presenting)
        on duplicate key update transaction = presenting;
        return row_fence;
    end if;
    select count(*) into shares from lock_shares
    where type = key_type and id = key_id and lockid = lock_id;
    if shares > 0 then
        signal sqlstate 'LH002' set message_text =
            'leasehold: the lease is shared, and a write needs an exclusive lease';
    end if;
    if is_mine then
        set reason = if(row_ended in ({endings}), row_ended, {expired});
    else
        select ended into reason from lock_history
        where lockid = lock_id and type = key_type and id = key_id order by seq desc limit 1;
    end if;
    set message = concat('leasehold: ', case ifnull(reason, {not_ended}) {gone_sentences} end);
    set found = true;
    select lockid = lock_id, mode, {expires}, owner into is_mine, row_mode, row_expires, row_owner
    from locks as looked where type = key_type and id = key_id limit 1;
    if found and row_expires > leasehold_clock() then
        set message = left(concat(message, ifnull(concat('; ', if(row_mode = {shared},
            leasehold_sharers(key_type, key_id),
            leasehold_sentence(key_type, key_id, row_mode, row_owner, row_expires, 1))), '')), 128);
    end if;
    signal sqlstate 'LH002' set message_text = message;
end
)sql";

// In the trigger of a table: judges the key of a row. A key that nobody has leased costs two
// searches by primary key, in one statement. Without the row with the secret, `known` stays null.
inline constexpr std::string_view judge_row =
    "begin declare known, repeats boolean; "
    "select looked.type is not null into known from locks as proof "
    "left join locks as looked on looked.type = {type} and looked.id = {id} "
    "where proof.type = x'00' and proof.id = x'00' and sha2(proof.note, 256) = {proof} limit 1; "
    "if known = 0 then if {isolation} in ('REPEATABLE-READ', 'SERIALIZABLE') then "
    "{set_repeats} set known = repeats; else {not_waiting} select count(*) into known "
    "from locks as locked where type = {type} and id = {id} limit 1 {for_share}; end if; end if; "
    "if not (known <=> 0) then call leasehold_admit({type}, {id}, false); end if; end; ";
// The same if every write needs a lease.
inline constexpr std::string_view judge_row_strictly = "call leasehold_admit({type}, {id}, true); ";
// Before an insert for which the server will count a key up, if every write needs a lease. The
// trigger after the insert comes too late: somebody else's function can catch its error.
inline constexpr std::string_view refuse_unknown_key =
    "signal sqlstate 'LH003' set message_text = 'leasehold: this row needs a lease, so its key "
    "must "
    "be known before the insert; lease a key and insert the row with it'; ";

// The words of the routines that differ between MariaDB and MySQL.
struct RoutineWords {
    // Before a statement that waits for another transaction for a second at most, or not at all.
    std::string_view waiting_briefly;
    std::string_view not_waiting;
    std::string_view for_share;
    // The session's level. A transaction may have another one: SET TRANSACTION gives it to one
    // transaction only, and the session's level can be set in the middle of a transaction.
    std::string_view isolation;
    // Whether a transaction of this session may not see what others committed since it began.
    std::string_view fixed_snapshot;
    // Sets `repeats`, which is null, to whether this is a transaction of several statements. Leaves
    // it null if nobody knows. Such a transaction may not see what others committed since it began.
    std::string_view set_repeats;
    // Sets `found` if the key has a row that the transaction does not see.
    std::string_view look_for_unseen;
    std::string_view transaction_function;
    std::string_view clock_function;
};
inline constexpr RoutineWords mariadb_words{
    .waiting_briefly = "set statement innodb_lock_wait_timeout = 1 for",
    .not_waiting = "set statement innodb_lock_wait_timeout = 0 for",
    .for_share = "lock in share mode",
    .isolation = "@@tx_isolation",
    .fixed_snapshot = "(@@tx_isolation in ('REPEATABLE-READ', 'SERIALIZABLE'))",
    .set_repeats = "set repeats = @@in_transaction;",
    // An insert with the lock id of `probe_row` always fails. The error tells whether the key has a
    // row: the primary key is compared first.
    .look_for_unseen = R"sql(
        begin
            declare continue handler for 1062 begin
                get diagnostics condition 1 message = message_text;
                -- With max_error_count = 0 there is no message.
                set found = ifnull(instr(right(message, 20), 'locks_lockid') = 0, true);
            end;
            set statement innodb_lock_wait_timeout = 1 for
            insert into locks (type, id, lockid, expiration_time)
            values (key_type, key_id, '!', {date_of_now});
        end;
)sql",
    .transaction_function = mariadb_transaction_function,
    .clock_function = mariadb_clock_function,
};
inline constexpr RoutineWords mysql_words{
    .waiting_briefly = "",
    .not_waiting = "",
    .for_share = "for share nowait",
    .isolation = "@@transaction_isolation",
    .fixed_snapshot = "(@@transaction_isolation in ('REPEATABLE-READ', 'SERIALIZABLE'))",
    .set_repeats =
        "select if(state = 'ACTIVE', autocommit = 'NO', null) into repeats "
        "from performance_schema.events_transactions_current "
        "where thread_id = ps_current_thread_id() limit 1;",
    // MySQL locks the gap after an insert that failed. So the row of an ended lease stays, until
    // the store purges it.
    .look_for_unseen = R"sql(
        insert ignore into locks (type, id, lockid, expiration_time, fence, ended, ended_at)
        values (key_type, key_id, uuid(), {date_of_now}, 0, {released}, leasehold_clock());
        set found = true;
)sql",
    .transaction_function = mysql_transaction_function,
    .clock_function = mysql_clock_function,
};

}  // namespace leasehold::mariadb::sql
