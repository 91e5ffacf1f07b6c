# Copies the rules, the batcher, the core of the SQL stores and the SQLite store, and puts bugs into the copies:
#   cmake -DSOURCES=.../src -DOUTPUT=folder -P SeedBugs.cmake
include("${CMAKE_CURRENT_LIST_DIR}/Seeding.cmake")
read_sources(core/rules.cpp core/cell_store.cpp core/plan.cpp core/batcher.cpp stores/sqlite/sqlite_store.cpp stores/sqlite/rows.cpp)

bug("a lease is taken over shortly before its expiry" core/rules.cpp)
at(still-alive)
swap("(grant, now" "(grant, now + (BUG ? std::chrono::milliseconds{40} : Duration{})")

bug("a share is granted beside an exclusive lease" core/rules.cpp)
at(conflict)
swap("grant.mode == Mode::exclusive" "(grant.mode == Mode::exclusive && !BUG)")

bug("an exclusive lease is granted beside shares" core/rules.cpp)
at(conflict)
swap("request.mode == Mode::exclusive" "(request.mode == Mode::exclusive && !BUG)")

bug("nameless owners are taken for one and the same" core/rules.cpp)
at(same-owner)
swap("!owner.empty()" "(!owner.empty() || BUG)")

bug("an owner gets the lease of another owner whose name is a prefix of its own" core/rules.cpp)
at(same-owner)
swap("grant.owner == owner"
    "(grant.owner == owner || (BUG && !grant.owner.empty() && owner.starts_with(grant.owner)))")

bug("the fence does not grow" core/rules.cpp)
at(next-fence)
insert_before("if (BUG && cell.fence > 0) return cell.fence;")

bug("the fence follows a clock that is too coarse" core/rules.cpp)
at(next-fence)
insert_before("if (BUG) return now.time_since_epoch().count() / 100'000;")

bug("renew does not ask whether the lease is alive" core/rules.cpp)
at(renewed-lease)
insert_after("for (Grant& any : cell.grants) if (BUG && any.lock_id == request.lock_id) grant = &any;")

bug("extend does not ask whether the lease is alive" core/rules.cpp)
at(extended-lease)
insert_after("for (Grant& any : cell.grants) if (BUG && any.lock_id == request.lock_id) grant = &any;")

bug("check does not look at the expiry" core/rules.cpp)
at(checked-lease)
swap("alive(grant, now)" "(alive(grant, now) || BUG)")

bug("renew shortens the lease" core/rules.cpp)
at(renewed-expiry)
insert_after("if (BUG) grant->expires_at = expiry(now, request.ttl);")

bug("extend counts from now" core/rules.cpp)
at(extended-expiry)
insert_before("if (BUG) grant->expires_at = now + request.by;")
swap("!= never" "!= never && !BUG")

bug("release ends whatever lease is on the key" core/rules.cpp)
at(released-lease)
insert_after("if (BUG && grant == nullptr && !cell.grants.empty()) end(key, cell, 0, {Gone::released, now});")

bug("a release is answered and not done" core/rules.cpp)
at(release)
insert_before("if (BUG) return released;")

bug("a second release is answered like the first" core/rules.cpp)
at(released-lease)
insert_after("if (BUG && grant == nullptr && cell.last && cell.last->grant.lock_id == request.lock_id) \
return granted(key, cell.last->grant, cell.last->at);")

bug("break does not look at the fence" core/rules.cpp)
at(broken-fence)
swap("!= request.fence" "!= request.fence && !BUG")

bug("release-all takes owners whose names begin alike" core/rules.cpp)
at(owner-below)
swap("owner[wanted.size()] == '/'" "(owner[wanted.size()] == '/' || BUG)")

bug("release-all forgets the owners below" core/rules.cpp)
at(release-all)
swap("request.scope" "BUG ? OwnerScope::exact : request.scope")

bug("a request is refused as held and granted all the same" core/rules.cpp)
at(refused-as-held)
insert_before("if (BUG && !conflicts.empty() && request.mode == Mode::shared) (void)grant(request, cell, now);")

bug("some of several keys stay taken when one is refused" core/rules.cpp)
at(undo)
swap("i < cells.size()" "i < cells.size() && !BUG")

bug("a lock id that died lives again" core/rules.cpp)
at(died)
swap("!= Gone::unknown" "!= Gone::unknown && !BUG")

bug("an expired lease still keeps others out" core/rules.cpp)
at(still-alive)
swap("!alive" "!BUG && !alive")

bug("a lease is granted for half its time" core/rules.cpp)
at(granted)
insert_before("if (BUG) cell.grants.back().expires_at = now + (cell.grants.back().expires_at - now) / 2;")

bug("the store's time goes back a little" core/rules.cpp)
at(store-time)
insert_before("if (BUG && cell.fence % 3 == 0) return now_ - std::chrono::milliseconds{30};")

bug("an ending is not remembered" core/rules.cpp)
at(ending)
swap("endings_" "if (!BUG) endings_")

bug("a grant is answered and not kept" core/rules.cpp)
at(granted)
insert_before("if (BUG && request.mode == Mode::shared) { \
Outcome answer = granted(request.key, cell.grants.back(), now); cell.grants.back().expires_at = now; return answer; }")

bug("a release is remembered as an expiry" core/rules.cpp)
at(release)
swap("Gone::released" "BUG ? Gone::expired : Gone::released")

bug("a share becomes exclusive although others share" core/rules.cpp)
at(refused-as-held)
insert_before("if (BUG && !conflicts.empty() && mine != nullptr && request.mode == Mode::exclusive) \
return convert_or_renew(request, cell, *mine, now);")

bug("the store draws a lock id of its own" core/rules.cpp)
at(granted)
insert_before("if (BUG) cell.grants.back().lock_id = LockId::random();")

# How the stores on databases use the rules.
bug("a commit that met another transaction is answered as done" core/cell_store.cpp)
at(commit)
swap("save_and_commit(work);" "try { save_and_commit(work); } catch (const Conflict&) { if (!BUG) throw; }")

bug("a commit that was lost is answered as done" core/cell_store.cpp)
at(commit)
swap("save_and_commit(work);" "try { save_and_commit(work); } catch (const StoreFault&) { if (!BUG) throw; }")

bug("a batch is answered before it is committed" core/cell_store.cpp)
at(commit)
insert_before("for (std::size_t i = 0; BUG && i < plan.size(); ++i) batch.outcomes[plan.index(i)] = decided[i];")

bug("a commit that was lost is said to have had no effect" core/cell_store.cpp)
at(commit)
swap("save_and_commit(work);" "try { save_and_commit(work); } catch (const StoreFault& fault) { if (!BUG) throw; \
throw StoreFault{StoreFault::Effect::none, fault.cause(), fault.what()}; }")

bug("an ending is not written to the history" core/cell_store.cpp)
at(history)
swap("!keeps_history()" "!keeps_history() || BUG")

bug("release-all ends one lease of several" core/plan.cpp)
at(owned-keys)
insert_after("if (BUG && keys.size() > 1) keys.erase(keys.begin() + 1, keys.end());")

bug("the answers of a batch go to the wrong callers" core/batcher.cpp)
at(answer)
swap("submitted.index" "BUG ? (submitted.index + 1) % group.outcomes.size() : submitted.index")

bug("a caller without an answer hears that nothing was done" core/batcher.cpp)
at(unanswered)
swap(", fault" ", {BUG ? StoreFault::Effect::none : fault.effect(), fault.cause(), fault.what()}")

# A store on a real database, with several processes on it.
bug("the writes of another process are not noticed" stores/sqlite/sqlite_store.cpp)
at(cache-version)
swap("cache_version_ != version" "(cache_version_ != version && !BUG)")

bug("a lock id is not looked up among the dead ones" stores/sqlite/sqlite_store.cpp)
at(past-lease)
swap("rows_.find_past(id)" "rows_.find_past(id); past && !BUG")

bug("one commit of many is forgotten" stores/sqlite/sqlite_store.cpp)
at(commit)
insert_before("if (static int commits = 0; BUG && ++commits % 20 == 0) return rollback();")

bug("a row keeps the fence of the lease before" stores/sqlite/rows.cpp)
at(written-row)
insert_after("if (BUG && known.rowid != 0) row.fence = known.row.fence;")

bug("a share that ended stays in its table" stores/sqlite/rows.cpp)
at(removed-share)
insert_after("if (BUG) break;")

bug("release-all does not find shares" stores/sqlite/rows.cpp)
at(owned-shares)
swap("where owner = ?1" "where \" + std::string{BUG ? \"false and \" : \"\"} + \"owner = ?1")

write_copies()
