# Copies the stores that speak to servers and puts bugs into the copies:
#   cmake -DSOURCES=.../src -DOUTPUT=folder -P SeedStoreBugs.cmake
include("${CMAKE_CURRENT_LIST_DIR}/Seeding.cmake")
set(folders postgres mariadb etcd http)
list(TRANSFORM folders REPLACE "(.+)" "${SOURCES}/stores/\\1/*.?pp")
file(GLOB sources RELATIVE "${SOURCES}" ${folders})
read_sources(${sources})

# All SQL passes here.
at_folder(stores/postgres)
at(sql)
swap("std::string{command.sql}" "lab::as_seeded(command.sql)")
at_folder(stores/mariadb)
at(prepared-sql)
insert_before("const std::string seeded_sql = lab::as_seeded(sql); sql = seeded_sql;")
at(sql)
insert_before("const std::string seeded_sql = lab::as_seeded(text); text = seeded_sql;")

# PostgreSQL
bug("rows that are to be changed are not locked" stores/postgres)
at(lock-rows)
swap_sql("for update skip locked" "offset 0")

bug("the fence is the number of the database's transaction" stores/postgres)
at(tried-fence)
swap_sql("greatest((date_part('epoch', now) * 1000000)::bigint, old_fence + 1)" "txid_current()::text::bigint")
at(take)
swap_sql("l.fence < excluded.fence" "true")

bug("renew and release do not compare the lock id" stores/postgres)
at(change)
swap_sql("and l.lockid = q.lockid" "")

bug("an expired lease is renewed" stores/postgres)
at(change)
swap_sql("and l.expiration_time > clock_timestamp()" "")
swap_sql("and mine.expiration_time > mine.now" "")

bug("shares are not counted" stores/postgres)
at(read-rows)
swap_sql("s.type = q.type" "false")

bug("a commit whose answer was lost is said to have failed" stores/postgres)
at(lost-answer)
swap("commits == Commits::yes" "commits == Commits::yes && !BUG")

bug("commits are answered before they are on the disk" stores/postgres)
at(settings)
insert_after("if (BUG) talk.execute(\"set synchronous_commit = off\");")

bug("a lock id is not looked up among the dead ones" stores/postgres)
at(unused-lock-id)
swap_sql("h.lockid = q.lockid" "false")
swap_sql("l.lockid = q.lockid" "false")

bug("the clock of the application's machine judges" stores/postgres)
at(clock)
insert_after("if (BUG) work.reading.clock = lab::wall_clock_of(this);")

bug("the end of one share ends all shares of its key" stores/postgres)
at(delete-shares)
swap_sql("and s.lockid = v.lockid" "")

# MariaDB and MySQL
bug("the take-over does not ask whether the key is free" stores/mariadb)
at(take-if-free)
swap_sql("locks.ended in ({endings})" "true")

bug("release does not compare the lock id" stores/mariadb)
at(end)
swap_sql("lockid = ?" "lockid in (?, lockid)")
at(mysql-end)
swap_sql("lockid = ?3" "lockid in (?3, lockid)")

bug("rows that are to be changed are not locked" stores/mariadb)
at(lock-rows)
swap_sql("for update skip locked" "")

bug("shares are not counted" stores/mariadb)
at(read-shares)
swap_sql("order by fence" "limit 0")

bug("a commit whose answer was lost is said to have failed" stores/mariadb)
at(lost-answer)
swap("Effect::unknown" "BUG ? Effect::none : Effect::unknown")

bug("the fence is that of the lease before" stores/mariadb)
at(taken-fence)
swap_sql("greatest(locks.fence + 1, @now)" "locks.fence")

bug("release-all does not find shares" stores/mariadb)
at(owned-shares)
swap_sql("select type, id, 1" "select 'none', id, 1")

bug("a batch is answered before it is committed" stores/mariadb)
at(commit)
swap("\"commit\"" "BUG ? \"do 0\" : \"commit\"")

bug("the clock of the application's machine judges" stores/mariadb)
at(clock)
insert_before("if (BUG) reading.clock = lab::wall_clock_of(this);")

# etcd
bug("a transaction does not compare the rows it goes by" stores/etcd)
at(compare-row)
swap("txn.expect" "if (!BUG) txn.expect")

bug("a transaction that was not carried out is answered as done" stores/etcd)
at(as-expected)
swap("!answer.as_expected" "!answer.as_expected && !BUG")

bug("refusals go by what is remembered, without asking etcd" stores/etcd)
at(unchanged)
insert_before("if (BUG) return rollback();")

bug("a lost answer is reported as nothing done" stores/etcd)
at(lost-answer)
swap("txn.writes()" "txn.writes() && !BUG")

bug("a write is sent to the next member when its answer is lost" stores/etcd)
at(next-member)
swap("fault.effect() == Effect::none" "(fault.effect() == Effect::none || BUG)")

bug("shares are not counted" stores/etcd)
at(read-share)
swap("rows.back()" "if (!BUG) rows.back()")

bug("an owner's shares are not indexed" stores/etcd)
at(owned)
swap("!grant.owner.empty()" "!grant.owner.empty() && !(BUG && grant.mode == Mode::shared)")

# http
bug("a try is sent again with a new lock id when the connection is cut" stores/http)
at(post)
swap("connection_.post(\"/v1/batch\", std::move(body), effect)"
[==[[&] {
            try {
                return connection_.post("/v1/batch", std::string{body}, effect);
            } catch (const StoreFault&) {
                if (!BUG) throw;
            }
            body = R"({"requests":[)";
            for (std::size_t i = 0; i < count; ++i) {
                Request again = requests[i];
                if (auto* wanted = std::get_if<TryLock>(&again)) wanted->lock_id = LockId::random();
                if (i > 0) body += ',';
                wire::print(body, wire::to_json(again));
            }
            return connection_.post("/v1/batch", body + "]}", effect);
        }()]==])

bug("a lost answer is reported as nothing done" stores/http)
at(lost-answer)
swap("changes" "changes && !BUG")

bug("a message is sent again when the connection is cut" stores/http)
at(exchange)
insert_before("try { return connection_.exchange(message, deadlines); } catch (const StoreFault&) { if (!BUG) throw; }")

bug("the answers of a message go to the wrong requests" stores/http)
at(answer)
swap("outcomes[i]" "outcomes[BUG ? outcomes.size() - 1 - i : i]")

bug("a release counts as a request that only reads" stores/http)
at(only-reads)
swap("!only_reads(kind_of(requests[count]))"
    "!(only_reads(kind_of(requests[count])) || (BUG && kind_of(requests[count]) == RequestKind::release))")

write_copies()
