// Two people, one order: Alice edits it, Bob has to wait, and nobody's work is lost.
#include <leasehold/leasehold.hpp>
#include <leasehold/stores/sqlite.hpp>

#include <sqlite3.h>

#include <iostream>
#include <thread>

using namespace std::chrono_literals;

int main(int argc, char** argv) try {
    const std::string file = argc > 1 ? argv[1] : "quickstart.db";
    leasehold::LockManager locks{leasehold::open_store("sqlite:" + file)};
    const leasehold::LockKey order{"Order", "1"};

    // Alice opens the edit form. The form carries the lock id.
    auto alice =
        locks.try_lock(order, {.owner = "alice/tab-1", .ttl = 5min, .note = "new address"});
    if (!alice) return std::cout << alice.error().message() << '\n', 1;
    std::cout << "alice edits " << order.to_string() << ", fence " << alice->fence << '\n';

    // Bob wants to edit it too, and sees who has it and until when.
    auto bob = locks.try_lock(order, {.owner = "bob/tab-9"});
    std::cout << "bob is refused: " << bob.error().message() << '\n';

    // Alice saves: check, write and release in one transaction of her own database.
    sqlite3* db = nullptr;
    sqlite3_open(file.c_str(), &db);
    const auto sql = [db](const char* text) { sqlite3_exec(db, text, nullptr, nullptr, nullptr); };
    sql("create table if not exists orders (id text primary key, address text); begin immediate");
    auto guarded = leasehold::sqlite::guard(db, order, alice->lock_id);
    sql("insert or replace into orders values ('1', '12 Elm Street')");
    leasehold::sqlite::release(db, order, alice->lock_id);
    sql("commit");
    std::cout << "alice saves under guard: " << (guarded ? "yes" : "no") << '\n';

    // Now it is Bob's, for a moment only: he falls asleep and his time runs out.
    bob = locks.try_lock(order, {.owner = "bob/tab-9", .ttl = 200ms});
    std::this_thread::sleep_for(300ms);
    sql("begin immediate");
    guarded = leasehold::sqlite::guard(db, order, bob->lock_id);
    std::cout << "bob saves too late: " << guarded.error().message() << '\n';
    sql("rollback");
    sqlite3_close(db);
} catch (const std::exception& error) {
    std::cerr << "quickstart: " << error.what() << '\n';
    return 1;
}
