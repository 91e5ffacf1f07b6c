#pragma once

#include <memory>
#include <string>

#include <leasehold/store.hpp>

namespace leasehold::postgres {

// How processes on one database learn of each other's releases, by LISTEN and NOTIFY:
//
// 1. The watch has a connection of its own, which listens. For each key it holds an advisory lock,
//    shared and of the session, so that the watch of a process that dies leaves nothing behind. One
//    more of these locks says that there is a watch at all (waits.hpp).
// 2. A statement that releases a lease tests whether somebody has these locks: one test for each
//    statement while there is no watch.
// 3. If somebody has, the store notifies the key's number after the commit, before it answers, in a
//    transaction of its own: NOTIFY takes a lock of the whole server until its transaction has
//    committed. This one does not wait for the disk, so it costs the release one round trip more.
//    If another program keeps that lock for longer than retries::postgres_lock_patience (10 ms),
//    for instance because its own NOTIFY waits for a slow disk or for a standby, the notification
//    is dropped, and the waiter finds out when it asks again. A release never waits longer for it.
// 4. The watch returns the keys of that number. Different keys may have the same number.
//
// Advisory locks need memory that all sessions share. A watch takes at most as many as PostgreSQL
// reserves for a session by default. If it watches more keys, one more lock makes every release
// notify.
//
// Leases that end by release() in the caller's own transaction, or by the pattern's programs, are
// not notified, unless the caller asks for it after its commit (wake_waiters() in postgres.hpp). A
// NOTIFY in the transaction could spoil it: its commit would wait for the lock of step 3 and fail
// at the caller's lock_timeout, and it could not be prepared (PREPARE TRANSACTION). Behind a pooler
// there is no watch, because the pooler may lend its session to others.
[[nodiscard]] std::unique_ptr<StoreWatch> make_watch(const std::string& conninfo,
                                                     Duration io_timeout);

}  // namespace leasehold::postgres
