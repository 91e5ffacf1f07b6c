# Makes copies of the stores that speak to servers with bugs in them:
#   cmake -DSOURCES=.../src -DOUTPUT=folder -P SeedStoreBugs.cmake
include("${CMAKE_CURRENT_LIST_DIR}/Seeding.cmake")
set(folders postgres mariadb etcd http)
list(TRANSFORM folders REPLACE "(.+)" "${SOURCES}/stores/\\1/*.?pp")
file(GLOB sources RELATIVE "${SOURCES}" ${folders})
read_sources(${sources})

# All SQL passes here.
replace_once(stores/postgres/connection.cpp [==[std::string{command.sql}.c_str()]==] [==[lab::as_seeded(command.sql).c_str()]==])
replace_once(stores/mariadb/connection.cpp
    [==[    if (mysql_stmt_prepare(statement_.get(), sql.data(), sql.size()) != 0) throw error();]==]
    [==[    const std::string said = lab::as_seeded(sql);
    if (mysql_stmt_prepare(statement_.get(), said.data(), said.size()) != 0) throw error();]==])
replace_once(stores/mariadb/connection.cpp
    [==[        if (mysql_real_query(connection_.get(), text.data(), text.size()) != 0) {]==]
    [==[        const std::string said = lab::as_seeded(text);
        if (mysql_real_query(connection_.get(), said.data(), said.size()) != 0) {]==])

# PostgreSQL
seed_sql(1 "rows that are to be changed are not locked" stores/postgres
    [==[l.id = q.id for update skip locked]==] [==[l.id = q.id offset 0]==])
seed_sql(2 "the fence is the number of the database's transaction" stores/postgres
    [==[(date_part('epoch', now) * 1000000)::bigint, now, now]==] [==[txid_current()::text::bigint, now, now]==])
seed_sql(2 "" stores/postgres [==[fence = greatest(excluded.fence, l.fence + 1)]==] [==[fence = excluded.fence]==])
seed_sql(3 "renew and release do not compare the lock id" stores/postgres
    [==[          and l.lockid = q.lockid and l.ended = 0]==] [==[          and l.ended = 0]==])
seed_sql(4 "a lease that has run out is renewed" stores/postgres
    [==[          and l.expiration_time > clock_timestamp() and l.expiration_time < 'infinity']==]
    [==[          and l.expiration_time < 'infinity']==])
seed_sql(4 "" stores/postgres
    [==[where l.ctid = mine.place and mine.expiration_time > mine.now]==] [==[where l.ctid = mine.place]==])
seed_sql(5 "shares are not counted" stores/postgres [==[where l.mode = 1 and s.type]==] [==[where l.mode = 2 and s.type]==])
seed_bug(6 "a commit whose answer was lost is said to have failed" stores/postgres
    [==[commits == Commits::yes ? StoreFault::Effect::unknown : StoreFault::Effect::none;]==]
    [==[commits == Commits::yes && !seeded(6) ? StoreFault::Effect::unknown : StoreFault::Effect::none;]==])
seed_bug(7 "commits are answered before they are on the disk" stores/postgres
    [==[        talk.execute(working_settings);]==]
    [==[        talk.execute(working_settings);
        if (seeded(7)) talk.execute("set synchronous_commit = off");]==])
seed_sql(8 "a lock id is not looked for among those that died" stores/postgres
    [==[select from lock_history h where h.lockid = q.lockid]==] [==[select from lock_history h where false]==])
seed_sql(8 "" stores/postgres [==[select from locks l where l.lockid = q.lockid]==] [==[select from locks l where false]==])
seed_bug(9 "the clock of the application's machine judges" stores/postgres
    [==[        work.reading = clock_at(answers[at]);]==]
    [==[        work.reading = clock_at(answers[at]);
        if (seeded(9)) work.reading.clock = lab::wall_clock_of(this);]==])
seed_sql(10 "the end of one share ends all shares of its key" stores/postgres
    [==[s.id = v.id and s.lockid = v.lockid offset 0]==] [==[s.id = v.id offset 0]==])

# MariaDB
seed_sql(11 "the take-over does not ask whether the key is free" stores/mariadb
    [==[and locks.ended <> 0 and locks.lockid <> value(lockid)]==] [==[and locks.lockid <> value(lockid)]==])
seed_sql(12 "release does not compare the lock id" stores/mariadb
    [==[ended_at = @now where type = ? and id = ? and lockid = ?]==]
    [==[ended_at = @now where type = ? and id = ? and lockid in (?, lockid)]==])
seed_sql(13 "rows that are to be changed are not locked" stores/mariadb [==[ for update skip locked]==] [==[]==])
seed_sql(14 "shares are not counted" stores/mariadb [==[ order by fence]==] [==[ limit 0]==])
seed_bug(15 "a commit whose answer was lost is said to have failed" stores/mariadb
    [==[    if (ends_connection(number)) return Effect::unknown;]==]
    [==[    if (ends_connection(number)) return seeded(15) ? Effect::none : Effect::unknown;]==])
seed_sql(16 "the fence is that of the lease before" stores/mariadb
    [==[greatest(locks.fence + 1, locks.touched_at)]==] [==[locks.fence]==])
seed_sql(17 "release-all does not find shares" stores/mariadb
    [==[from lock_shares force index (lock_shares_owner) where ]==]
    [==[from lock_shares force index (lock_shares_owner) where false and ]==])
seed_bug(18 "a batch is answered before it is committed" stores/mariadb
    [==[            script.add("commit");]==] [==[            script.add(seeded(18) ? "do 0" : "commit");]==])
seed_bug(19 "the clock of the application's machine judges" stores/mariadb
    [==[        clock.next();
        return {time_from(clock.integer(0)), time_from(clock.integer(1))};]==]
    [==[        clock.next();
        if (seeded(19)) return {lab::wall_clock_of(this), time_from(clock.integer(1))};
        return {time_from(clock.integer(0)), time_from(clock.integer(1))};]==])

# etcd
seed_bug(20 "a transaction does not compare the rows it goes by" stores/etcd
    [==[        txn.expect(names_.row_and_shares(slot.key), known_[i].changed, known_[i].known_at);]==]
    [==[        if (!seeded(20)) txn.expect(names_.row_and_shares(slot.key), known_[i].changed, known_[i].known_at);]==])
seed_bug(21 "a transaction that was not carried out is answered as done" stores/etcd
    [==[    if (!answer.as_expected) throw Conflict{};]==]
    [==[    if (!answer.as_expected && !seeded(21)) throw Conflict{};]==])
seed_bug(22 "refusals are given by what is remembered, without asking" stores/etcd
    [==[    Txn txn;
    commit(work, txn, Effect::none);]==]
    [==[    if (seeded(22)) return rollback();
    Txn txn;
    commit(work, txn, Effect::none);]==])
seed_bug(23 "an answer that was lost is told as nothing done" stores/etcd
    [==[    commit(work, txn, txn.writes() ? Effect::unknown : Effect::none);]==]
    [==[    commit(work, txn, txn.writes() && !seeded(23) ? Effect::unknown : Effect::none);]==])
seed_bug(24 "what writes is sent to the next member when an answer is lost" stores/etcd
    [==[            const bool may_go_on = fault.effect() == Effect::none &&]==]
    [==[            const bool may_go_on = (fault.effect() == Effect::none || seeded(24)) &&]==])
seed_bug(25 "shares are not counted" stores/etcd
    [==[                rows.back().known.shares.push_back(*std::move(share));]==]
    [==[                if (!seeded(25)) rows.back().known.shares.push_back(*std::move(share));]==])
seed_bug(26 "what an owner shares is not written down" stores/etcd
    [==[        if (!grant.owner.empty()) txn.put(names_.owned(grant.owner, key, grant.lock_id), {});]==]
    [==[        if (!grant.owner.empty() && !(seeded(26) && grant.mode == Mode::shared))
            txn.put(names_.owned(grant.owner, key, grant.lock_id), {});]==])

# http
seed_bug(27 "a try is asked again with a new lock id when the connection is cut" stores/http
    [==[        const Response response = connection_.post("/v1/batch", std::move(body), effect);]==]
    [==[        const Response response = [&] {
            try {
                return connection_.post("/v1/batch", std::string{body}, effect);
            } catch (const StoreFault&) {
                if (!seeded(27)) throw;
            }
            body = R"({"requests":[)";
            for (std::size_t i = 0; i < count; ++i) {
                Request again = requests[i];
                if (auto* wanted = std::get_if<TryLock>(&again)) wanted->lock_id = LockId::random();
                if (i > 0) body += ',';
                wire::print(body, wire::to_json(again));
            }
            return connection_.post("/v1/batch", body + "]}", effect);
        }();]==])
seed_bug(28 "an answer that was lost is told as nothing done" stores/http
    [==[        const auto effect = changes ? StoreFault::Effect::unknown]==]
    [==[        const auto effect = changes && !seeded(28) ? StoreFault::Effect::unknown]==])
seed_bug(29 "a message is sent again when the connection is cut" stores/http
    [==[    return connection_.exchange(message, deadlines);]==]
    [==[    try {
        return connection_.exchange(message, deadlines);
    } catch (const StoreFault&) {
        if (!seeded(29)) throw;
    }
    return connection_.exchange(message, deadlines);]==])
seed_bug(30 "the answers of a message go to the wrong requests" stores/http
    [==[                outcomes[i] = wire::outcome_from(answers.get_array()[i]);]==]
    [==[                outcomes[i] = wire::outcome_from(
                    answers.get_array()[seeded(30) ? outcomes.size() - 1 - i : i]);]==])
seed_bug(31 "a release counts among what only asks" stores/http
    [==[    return std::holds_alternative<Check>(request) ||]==]
    [==[    return (seeded(31) && std::holds_alternative<Release>(request)) ||
           std::holds_alternative<Check>(request) ||]==])

write_copies()
