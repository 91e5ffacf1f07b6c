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
//  - A subquery in an expression locks its rows, and gaps. SELECT ... INTO does not.
//  - InnoDB locks a table once per alias in a trigger, with the strongest lock that any statement
//    needs under that alias. So a plain read and a locking read of `locks` use different aliases,
//    `looked` and `locked`.
//  - Every statement on a protected table opens all tables that its triggers may need. So they need
//    few.
//  - SKIP LOCKED has no effect. A lock that cannot be had within innodb_lock_wait_timeout ends the
//    statement, whatever a handler says.
//
// A temporary table hides the table of the same name from triggers and routines, too. Every user
// with CREATE TEMPORARY TABLES could thus show them other leases. So all that they read to judge a
// write, they read by cursors on views:
//  - A view shows the real tables. {locks}, {lock_shares}, ... are the names of the views.
//  - A view's own name could be hidden, too, but contains a secret. Statements of routines appear
//    in the list of processes; cursors do not.
//  - Writes name the real tables. A write to a temporary table has no effect on what is read.
namespace leasehold::mariadb::sql {

struct View {
    std::string_view table;
    std::string_view columns;
};
inline constexpr std::array views{
    View{"locks", "type, id, lockid, expiration_time, owner, mode, fence, touched_at, ended, note"},
    View{"lock_shares", "type, id, expiration_time, owner, fence"},
    View{"lock_presented", "type, id, transaction"}, View{"leasehold", "name, value"},
    View{"lock_transactions", "connection, started"}};

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
    declare mine cursor for
        select started from {lock_transactions} as looked where connection = connection_id();
    declare continue handler for not found set number = null;
    if @@in_transaction = 0 and @@autocommit = 1 then return null; end if;
    insert into lock_transactions (connection) values (connection_id());
    open mine;
    fetch mine into number;
    close mine;
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
// note is a secret of this database.
inline constexpr std::string_view probe_row =
    "insert ignore into locks (type, id, lockid, expiration_time) values (x'00', x'00', '!', "
    "{date_of_never})";
inline constexpr std::string_view set_secret =
    "update locks set note = {secret} where type = x'00' and id = x'00' and note = ''";
inline constexpr std::string_view secret =
    "select note from locks where type = x'00' and id = x'00'";

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

inline constexpr std::string_view presented_function = R"sql(
create function leasehold_presented(key_type varbinary(1024), key_id varbinary(1024))
returns boolean
reads sql data {version}
begin
    declare presenting varbinary(64) default null;
    declare presented cursor for
        select transaction from {lock_presented} as looked where type = key_type and id = key_id;
    declare continue handler for not found set presenting = null;
    open presented;
    fetch presented into presenting;
    close presented;
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
    declare row_expires, holders bigint default 0;
    declare shares cursor for
        select owner, expiration_time, count(*) over () from {lock_shares} as looked
        where type = key_type and id = key_id and expiration_time > clock order by fence limit 1;
    declare newer_shares cursor for
        select owner, expiration_time, 1 from {lock_shares} as locked
        where type = key_type and id = key_id and expiration_time > clock
        order by fence limit 1 {for_share};
    declare continue handler for not found set holders = 0;
    open shares;
    fetch shares into row_owner, row_expires, holders;
    close shares;
    if holders = 0 and {isolation} = 'READ-COMMITTED' then
        open newer_shares;
        fetch newer_shares into row_owner, row_expires, holders;
        close newer_shares;
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

// Locks the row of a key, if there is one, and reads it.
inline constexpr std::string_view share_procedure = R"sql(
create procedure leasehold_share(
    in key_type varbinary(1024), in key_id varbinary(1024), out found boolean,
    out row_ended tinyint, out row_mode tinyint, out row_expires bigint, out row_touched bigint,
    out row_owner varbinary(512))
reads sql data {version}
begin
    declare locked cursor for
        select ended, mode, {expires}, touched_at, owner
        from {locks} as locked where type = key_type and id = key_id {for_share};
    declare continue handler for not found set found = false;
    set found = true;
    open locked;
    fetch locked into row_ended, row_mode, row_expires, row_touched, row_owner;
    close locked;
end
)sql";

// The same for leasehold_guard, and whether the row has this lock id.
inline constexpr std::string_view lock_procedure = R"sql(
create procedure leasehold_lock(
    in key_type varbinary(1024), in key_id varbinary(1024), in lock_id varbinary(1024),
    out is_mine boolean, out row_ended tinyint, out row_mode tinyint, out row_expires bigint,
    out row_touched bigint, out row_fence bigint)
reads sql data {version}
begin
    declare locked cursor for
        select lockid = lock_id, ended, mode, {expires}, touched_at, fence
        from {locks} as locked where type = key_type and id = key_id for update;
    declare continue handler for not found set is_mine = false;
    open locked;
    fetch locked into is_mine, row_ended, row_mode, row_expires, row_touched, row_fence;
    close locked;
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
// RoutineWords::look_for_unseen.
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
    declare probes bigint default 0;
    declare looked cursor for
        select ended, mode, {expires}, touched_at, owner
        from {locks} as looked where type = key_type and id = key_id;
    declare probe cursor for
        select count(*) from locks as named join {locks} as looked using (type, id, note)
        where named.type = x'00' and named.id = x'00';
    declare continue handler for not found set found = false;
    if key_type is null or key_id is null then
        if required then
            signal sqlstate 'LH003' set message_text =
                'leasehold: this row needs a lease, and a column of its key is null';
        end if;
        leave admitting;
    end if;
    open looked;
    fetch looked into row_ended, row_mode, row_expires, row_touched, row_owner;
    close looked;
    if found then
        call leasehold_judge(key_type, key_id, required, row_ended, row_mode, row_expires,
                             row_touched, row_owner);
    elseif {fixed_snapshot} and length(key_type) <= 128 and length(key_id) <= 512 then
{look_for_unseen}    elseif {isolation} = 'READ-COMMITTED' then
        set found = true;
    end if;
    if found then
        {not_waiting}
        call leasehold_share(key_type, key_id, found, row_ended, row_mode, row_expires,
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
    declare row_expires, row_touched, row_fence, time_floor, shares bigint default 0;
    declare row_owner varbinary(512);
    declare reason tinyint default null;
    declare presenting varbinary(64) default leasehold_transaction();
    declare found, is_mine boolean default true;
    declare message varchar(400) character set utf8mb4;
    declare looked cursor for
        select lockid = lock_id, mode, {expires}, owner
        from {locks} as looked where type = key_type and id = key_id;
    declare floor cursor for
        select value from {leasehold} as looked where name = 'time_floor';
    declare continue handler for not found set found = false;
    if ifnull(presenting, '') = '' then
        signal sqlstate 'LH002' set message_text =
            'leasehold: leasehold_guard needs an open transaction; begin one with START TRANSACTION';
    end if;
    open looked;
    fetch looked into is_mine, row_mode, row_expires, row_owner;
    close looked;
    set is_mine = found and is_mine;
    if is_mine then
        {waiting_briefly}
        call leasehold_lock(key_type, key_id, lock_id, is_mine, row_ended, row_mode, row_expires,
                            row_touched, row_fence);
    end if;
    open floor;
    fetch floor into time_floor;
    close floor;
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
    open looked;
    fetch looked into is_mine, row_mode, row_expires, row_owner;
    close looked;
    if found and row_expires > leasehold_clock() then
        set message = left(concat(message, ifnull(concat('; ', if(row_mode = {shared},
            leasehold_sharers(key_type, key_id),
            leasehold_sentence(key_type, key_id, row_mode, row_owner, row_expires, 1))), '')), 128);
    end if;
    signal sqlstate 'LH002' set message_text = message;
end
)sql";

// For leasehold_admit, before it writes to `locks`: no other table has the secret of the probe row.
inline constexpr std::string_view require_the_real_table = R"sql(
        open probe;
        fetch probe into probes;
        close probe;
        if probes = 0 then
            signal sqlstate 'LH005' set message_text =
                'leasehold: a temporary table hides the table of locks; drop it';
        end if;
)sql";

// The words of the routines that differ between MariaDB and MySQL.
struct RoutineWords {
    // Before a statement that waits for another transaction for a second at most, or not at all.
    std::string_view waiting_briefly;
    std::string_view not_waiting;
    std::string_view for_share;
    std::string_view isolation;
    // Whether the transaction may not see what others committed since it began.
    std::string_view fixed_snapshot;
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
    .fixed_snapshot =
        "(@@in_transaction = 1 and @@tx_isolation in ('REPEATABLE-READ', 'SERIALIZABLE'))",
    // An insert with the lock id of `probe_row` always fails. The error tells whether the key has a
    // row: the primary key is compared first.
    .look_for_unseen = R"sql(
        {require_the_real_table}
        begin
            declare continue handler for 1062 begin
                get diagnostics condition 1 message = message_text;
                set found = instr(right(message, 20), 'locks_lockid') = 0;
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
    // MySQL locks the gap after an insert that failed. So the row of an ended lease stays, until
    // the store purges it.
    .look_for_unseen = R"sql(
        set message = leasehold_transaction();
        if message is null then
            signal sqlstate 'LH006' set message_text =
                'leasehold: the performance schema does not count transactions; see leasehold doctor';
        elseif message <> '' then
            {require_the_real_table}
            insert ignore into locks (type, id, lockid, expiration_time, fence, ended, ended_at)
            values (key_type, key_id, uuid(), {date_of_now}, 0, {released}, leasehold_clock());
            set found = true;
        end if;
)sql",
    .transaction_function = mysql_transaction_function,
    .clock_function = mysql_clock_function,
};

}  // namespace leasehold::mariadb::sql
