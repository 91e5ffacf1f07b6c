# Makes copies of the rules, the batcher, the core of the SQL stores and the SQLite store with bugs in them:
#   cmake -DSOURCES=.../src -DOUTPUT=folder -P SeedBugs.cmake
include("${CMAKE_CURRENT_LIST_DIR}/Seeding.cmake")
read_sources(core/rules.cpp core/cell_store.cpp core/plan.cpp core/batcher.cpp stores/sqlite/sqlite_store.cpp stores/sqlite/rows.cpp)

seed_bug(1 "a lease is taken over shortly before its expiry" core/rules.cpp
    [==[        if (!alive(grant, now)) continue;
        ++living;]==]
    [==[        if (!alive(grant, now + (seeded(1) ? std::chrono::milliseconds{40} : Duration{}))) continue;
        ++living;]==])
seed_bug(2 "a share is granted beside an exclusive lease" core/rules.cpp
    [==[} else if (grant.mode == Mode::exclusive || request.mode == Mode::exclusive) {]==]
    [==[} else if ((grant.mode == Mode::exclusive && !seeded(2)) || (request.mode == Mode::exclusive && !seeded(3))) {]==])
seed_bug(3 "an exclusive lease is granted beside shares" core/rules.cpp
    [==[(request.mode == Mode::exclusive && !seeded(3))]==]
    [==[(request.mode == Mode::exclusive && !seeded(3))]==])
seed_bug(4 "nameless owners are taken for one and the same" core/rules.cpp
    [==[            (!request.owner.empty() && grant.owner == request.owner)) {
            mine = &grant;]==]
    [==[            ((!request.owner.empty() || seeded(4)) &&
             (grant.owner == request.owner ||
              (seeded(5) && !grant.owner.empty() && request.owner.starts_with(grant.owner))))) {
            mine = &grant;]==])
seed_bug(5 "an owner gets the lease of another whose name his begins with" core/rules.cpp
    [==[seeded(5) && !grant.owner.empty()]==] [==[seeded(5) && !grant.owner.empty()]==])
seed_bug(6 "the fence does not grow" core/rules.cpp
    [==[    return std::max<Fence>(cell.fence + 1, now.time_since_epoch().count());]==]
    [==[    if (seeded(6) && cell.fence > 0) return cell.fence;
    if (seeded(7)) return now.time_since_epoch().count() / 100'000;
    return std::max<Fence>(cell.fence + 1, now.time_since_epoch().count());]==])
seed_bug(7 "the fence follows a clock that is too coarse" core/rules.cpp
    [==[if (seeded(7))]==] [==[if (seeded(7))]==])
seed_bug(8 "renew does not ask whether the lease is alive" core/rules.cpp
    [==[    Grant* grant = find_alive(cell, request.lock_id);
    if (grant == nullptr) return gone(key, cell, request.lock_id, now);
    grant->expires_at = capped(expiry(now, request.ttl), *grant, request.max_hold);]==]
    [==[    Grant* grant = find_alive(cell, request.lock_id);
    for (Grant& any : cell.grants) {
        if (seeded(8) && any.lock_id == request.lock_id) grant = &any;
    }
    if (grant == nullptr) return gone(key, cell, request.lock_id, now);
    grant->expires_at = seeded(11) ? expiry(now, request.ttl)
                                   : capped(expiry(now, request.ttl), *grant, request.max_hold);]==])
seed_bug(9 "extend does not ask whether the lease is alive" core/rules.cpp
    [==[    Grant* grant = find_alive(cell, request.lock_id);
    if (grant == nullptr) return gone(key, cell, request.lock_id, now);
    if (grant->expires_at != never) {]==]
    [==[    Grant* grant = find_alive(cell, request.lock_id);
    for (Grant& any : cell.grants) {
        if (seeded(9) && any.lock_id == request.lock_id) grant = &any;
    }
    if (grant == nullptr) return gone(key, cell, request.lock_id, now);
    if (seeded(12)) grant->expires_at = now + request.by;
    if (grant->expires_at != never && !seeded(12)) {]==])
seed_bug(10 "check does not look at the expiry" core/rules.cpp
    [==[        if (grant.lock_id == request.lock_id && alive(grant, now)) return granted(key, grant, now);]==]
    [==[        if (grant.lock_id == request.lock_id && (alive(grant, now) || seeded(10)))
            return granted(key, grant, now);]==])
seed_bug(11 "renew draws the expiry nearer" core/rules.cpp [==[seeded(11)]==] [==[seeded(11)]==])
seed_bug(12 "extend counts from now" core/rules.cpp [==[if (seeded(12)) grant]==] [==[if (seeded(12)) grant]==])
seed_bug(13 "release ends whatever lease is on the key" core/rules.cpp
    [==[    const Grant* grant = find_alive(cell, request.lock_id);
    if (grant == nullptr) return gone(key, cell, request.lock_id, now);
    if (request.if_expires_at]==]
    [==[    const Grant* grant = find_alive(cell, request.lock_id);
    if (seeded(13) && grant == nullptr && !cell.grants.empty()) {
        end(key, cell, 0, {Gone::released, now});
    }
    if (seeded(15) && grant == nullptr && cell.last && cell.last->grant.lock_id == request.lock_id) {
        return granted(key, cell.last->grant, cell.last->at);
    }
    if (grant == nullptr) return gone(key, cell, request.lock_id, now);
    if (request.if_expires_at]==])
seed_bug(14 "a release is answered and not done" core/rules.cpp
    [==[    Outcome released = granted(key, *grant, now);
    end(key, cell, static_cast<std::size_t>(grant - cell.grants.data()), {Gone::released, now});]==]
    [==[    Outcome released = granted(key, *grant, now);
    if (seeded(14)) return released;
    end(key, cell, static_cast<std::size_t>(grant - cell.grants.data()),
        {seeded(27) ? Gone::expired : Gone::released, now});]==])
seed_bug(15 "a second release is answered as the first" core/rules.cpp [==[seeded(15)]==] [==[seeded(15)]==])
seed_bug(16 "break does not look at the fence" core/rules.cpp
    [==[        if (grant.fence != request.fence) continue;]==]
    [==[        if (grant.fence != request.fence && !seeded(16)) continue;]==])
seed_bug(17 "release-all takes owners whose names begin alike" core/rules.cpp
    [==[owner.starts_with(wanted) && owner[wanted.size()] == '/';]==]
    [==[owner.starts_with(wanted) && (owner[wanted.size()] == '/' || seeded(17));]==])
seed_bug(18 "release-all forgets the owners below" core/rules.cpp
    [==[!owner_matches(grant.owner, request.owner, request.scope))
            continue;]==]
    [==[!owner_matches(grant.owner, request.owner, seeded(18) ? OwnerScope::exact : request.scope))
            continue;]==])
seed_bug(19 "refused as held, and granted all the same" core/rules.cpp
    [==[    if (!conflicts.empty()) return held(std::move(conflicts), now);]==]
    [==[    if (!conflicts.empty()) {
        if (seeded(19) && request.mode == Mode::shared) (void)grant(request, cell, now);
        return held(std::move(conflicts), now);
    }]==])
seed_bug(20 "of several keys some stay taken when one is refused" core/rules.cpp
    [==[    for (std::size_t i = 0; i < cells.size(); ++i) *cells[i] = std::move(before[i]);]==]
    [==[    for (std::size_t i = 0; i < cells.size() && !seeded(20); ++i) *cells[i] = std::move(before[i]);]==])
seed_bug(21 "a lock id that died lives again" core/rules.cpp
    [==[                   ended.reason != Gone::unknown) {]==]
    [==[                   ended.reason != Gone::unknown && !seeded(21)) {]==])
seed_bug(22 "an expired lease still keeps others out" core/rules.cpp
    [==[: Duration{}))) continue;
        ++living;]==]
    [==[: Duration{})) && !seeded(22)) continue;
        ++living;]==])
seed_bug(23 "a lease is granted for half its time" core/rules.cpp
    [==[expiry(now, request.max_hold ? std::min(request.ttl, *request.max_hold) : request.ttl),]==]
    [==[expiry(now, (request.max_hold ? std::min(request.ttl, *request.max_hold) : request.ttl) /
                        (seeded(23) ? 2 : 1)),]==])
seed_bug(24 "the store's time goes back a little" core/rules.cpp
    [==[    return std::max(now_, cell.touched);]==]
    [==[    if (seeded(24) && cell.fence % 3 == 0) return now_ - std::chrono::milliseconds{30};
    return std::max(now_, cell.touched);]==])
seed_bug(25 "what ended is not remembered" core/rules.cpp
    [==[    endings_.emplace_back(key, std::move(ending));]==]
    [==[    if (!seeded(25)) endings_.emplace_back(key, std::move(ending));]==])
seed_bug(26 "a grant is answered and not kept" core/rules.cpp
    [==[    return granted(request.key, cell.grants.back(), now);]==]
    [==[    Outcome answer = granted(request.key, cell.grants.back(), now);
    if (seeded(26) && request.mode == Mode::shared) cell.grants.back().expires_at = now;
    return answer;]==])
seed_bug(27 "a release is remembered as an expiry" core/rules.cpp [==[seeded(27)]==] [==[seeded(27)]==])
seed_bug(28 "a share becomes exclusive although others share" core/rules.cpp
    [==[        if (seeded(19) && request.mode]==]
    [==[        if (seeded(28) && mine != nullptr && request.mode == Mode::exclusive) {
            return convert_or_renew(request, cell, *mine, now);
        }
        if (seeded(19) && request.mode]==])
seed_bug(29 "the store draws a lock id of its own" core/rules.cpp
    [==[        {.lock_id = request.lock_id,]==]
    [==[        {.lock_id = seeded(29) ? LockId::random() : request.lock_id,]==])

# How the databases' stores use the rules.
seed_bug(30 "a commit that met another transaction is answered as done" core/cell_store.cpp
    [==[        save_and_commit(work);
        keep_floor(at);]==]
    [==[        if (seeded(32)) {
            for (std::size_t i = 0; i < plan.size(); ++i) batch.outcomes[plan.index(i)] = decided[i];
        }
        try {
            save_and_commit(work);
        } catch (const Conflict&) {
            if (!seeded(30)) throw;
        } catch (const StoreFault& fault) {
            if (seeded(33)) throw StoreFault{StoreFault::Effect::none, fault.cause(), fault.what()};
            if (!seeded(31)) throw;
        }
        keep_floor(at);]==])
seed_bug(31 "a commit that was lost is answered as done" core/cell_store.cpp
    [==[if (!seeded(31)) throw]==] [==[if (!seeded(31)) throw]==])
seed_bug(32 "a batch is answered before it is committed" core/cell_store.cpp
    [==[if (seeded(32))]==] [==[if (seeded(32))]==])
seed_bug(33 "a commit that was lost is said to have had no effect" core/cell_store.cpp
    [==[if (seeded(33)) throw]==] [==[if (seeded(33)) throw]==])
seed_bug(34 "what ended is not written down" core/cell_store.cpp
    [==[        if (!keeps_history()) work.endings.clear();
        if (seeded(32))]==]
    [==[        if (!keeps_history() || seeded(34)) work.endings.clear();
        if (seeded(32))]==])
seed_bug(35 "release-all ends one lease of several" core/plan.cpp
    [==[    sort_and_unite(keys);
    return keys;]==]
    [==[    sort_and_unite(keys);
    if (seeded(35) && keys.size() > 1) keys.erase(keys.begin() + 1, keys.end());
    return keys;]==])
seed_bug(36 "the answers of a batch go to the wrong callers" core/batcher.cpp
    [==[    Outcome& outcome = group.outcomes[submitted.index];]==]
    [==[    Outcome& outcome =
        group.outcomes[seeded(36) ? (submitted.index + 1) % group.outcomes.size() : submitted.index];]==])
seed_bug(37 "whoever got no answer is told that nothing was done" core/batcher.cpp
    [==[    } catch (const StoreFault& fault) {
        give_the_unanswered(outcomes, fault);]==]
    [==[    } catch (const StoreFault& fault) {
        give_the_unanswered(outcomes, {seeded(37) ? StoreFault::Effect::none : fault.effect(),
                                       fault.cause(), fault.what()});]==])

# A store on a real database, with several processes on it.
seed_bug(38 "what another process wrote is not noticed" stores/sqlite/sqlite_store.cpp
    [==[if (cache_version_ != version || cache_.size()]==]
    [==[if ((cache_version_ != version && !seeded(38)) || cache_.size()]==])
seed_bug(39 "a lock id is not looked for among those that died" stores/sqlite/sqlite_store.cpp
    [==[            if (auto past = rows_.find_past(id)) work]==]
    [==[            if (auto past = rows_.find_past(id); past && !seeded(39)) work]==])
seed_bug(40 "one commit of many is forgotten" stores/sqlite/sqlite_store.cpp
    [==[        const int code = commit_.step_code();]==]
    [==[        if (seeded(40) && ++commits_ % 20 == 0) return rollback();
        const int code = commit_.step_code();]==])
replace_once(stores/sqlite/sqlite_store.cpp "    std::vector<Known*> known_;" "    int commits_ = 0;\n    std::vector<Known*> known_;")
seed_bug(41 "a row keeps the fence of the lease before" stores/sqlite/rows.cpp
    [==[          "update locks set lockid = ?1, expiration_time = ?2, owner = ?3, mode = ?4, fence = ?5, "]==]
    [==[          std::string{"update locks set lockid = ?1, expiration_time = ?2, owner = ?3, mode = ?4, fence = "} +
          (seeded(41) ? "fence + 0 * ?5, " : "?5, ") +]==])
seed_bug(42 "a share that ended stays in its table" stores/sqlite/rows.cpp
    [==["delete from lock_shares where type = ?1 and id = ?2 and lockid = ?3"]==]
    [==[seeded(42) ? "delete from lock_shares where type = ?1 and id = ?2 and lockid = ?3 and false"
                        : "delete from lock_shares where type = ?1 and id = ?2 and lockid = ?3"]==])
seed_bug(43 "release-all does not find shares" stores/sqlite/rows.cpp
    [==[             "select type, id from locks where owner = ?1 and owner <> '' and ended = 0 union "
             "select type, id from lock_shares where owner = ?1 and owner <> ''"]==]
    [==[             std::string{"select type, id from locks where owner = ?1 and owner <> '' and ended = 0 union "
             "select type, id from lock_shares where owner = ?1 and owner <> ''"} +
                 (seeded(43) ? " and false" : "")]==])

write_copies()
