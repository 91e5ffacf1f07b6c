// Two people, one order: Alice edits it, Bob is refused, and a late save of Bob's changes nothing.
#include <leasehold/leasehold.hpp>
#include <leasehold/stores/sqlite.hpp>

#include <sqlite3.h>

#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

using namespace std::chrono_literals;

namespace {

using Database = std::unique_ptr<sqlite3, decltype(&sqlite3_close)>;

Database open(const std::string& file) {
    sqlite3* db = nullptr;
    const int code = sqlite3_open(file.c_str(), &db);
    Database result{db, sqlite3_close};
    if (code != SQLITE_OK) throw std::runtime_error{sqlite3_errmsg(db)};
    sqlite3_busy_timeout(db, 5000);
    return result;
}

void execute(sqlite3* db, const std::string& sql) {
    if (sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
        throw std::runtime_error{sqlite3_errmsg(db)};
    }
}

std::string address_in(sqlite3* db) {
    std::string address;
    const auto take = [](void* to, int, char** columns, char**) {
        *static_cast<std::string*>(to) = columns[0];
        return 0;
    };
    sqlite3_exec(db, "select address from orders where id = '1'", take, &address, nullptr);
    return address;
}

// A transaction that is rolled back unless it was committed.
class Transaction {
public:
    explicit Transaction(sqlite3* db) : db_{db} { execute(db_, "begin immediate"); }
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    ~Transaction() {
        if (!committed_) sqlite3_exec(db_, "rollback", nullptr, nullptr, nullptr);
    }
    void commit() {
        execute(db_, "commit");
        committed_ = true;
    }

private:
    sqlite3* db_;
    bool committed_ = false;
};

// Check, write and release in one transaction of the application's own database. Where the guard
// refuses, the caller does not hold the lock: nothing is written.
leasehold::Result<leasehold::Lease> save(sqlite3* db, const leasehold::LockKey& order,
                                         leasehold::LockId lock_id, const std::string& address) {
    Transaction transaction{db};
    auto guarded = leasehold::sqlite::guard(db, order, lock_id);
    if (!guarded) return guarded;
    execute(db, "insert or replace into orders values ('1', '" + address + "')");
    auto released = leasehold::sqlite::release(db, order, lock_id);
    if (released) transaction.commit();
    return released;
}

void tell(const std::string& who, const leasehold::Result<leasehold::Lease>& saved) {
    if (saved)
        std::cout << who << " saved\n";
    else
        std::cout << who << " was not saved: " << saved.error().message() << '\n';
}

int edit_and_save(const std::string& file) {
    leasehold::LockManager locks{leasehold::open_store("sqlite:" + file)};
    const leasehold::LockKey order{"Order", "1"};
    const Database db = open(file);
    execute(db.get(), "create table if not exists orders (id text primary key, address text)");

    // Alice opens the edit form. The form carries the lock id, as text.
    auto alice =
        locks.try_lock(order, {.owner = "alice/tab-1", .ttl = 5min, .note = "new address"});
    if (!alice) {
        std::cout << "alice is refused: " << alice.error().message() << '\n';
        return 1;
    }
    const std::string in_the_form = alice->lock_id.to_string();
    std::cout << "alice edits " << order.to_string() << ", fence " << alice->fence << '\n';

    // Bob wants to edit it too, and sees who has it and until when.
    auto bob = locks.try_lock(order, {.owner = "bob/tab-9"});
    if (!bob) std::cout << "bob is refused: " << bob.error().message() << '\n';

    // Alice sends the form. What arrives is text, and need not be a lock id.
    const auto lock_id = leasehold::LockId::parse(in_the_form);
    if (!lock_id) throw std::runtime_error{lock_id.error()};
    tell("alice's address", save(db.get(), order, *lock_id, "12 Elm Street"));

    // The lock is free again. Bob takes it, and his time runs out before he saves.
    bob = locks.try_lock(order, {.owner = "bob/tab-9", .ttl = 200ms});
    if (!bob) {
        std::cout << "bob is refused again: " << bob.error().message() << '\n';
        return 1;
    }
    std::this_thread::sleep_for(300ms);
    tell("bob's address", save(db.get(), order, bob->lock_id, "1 Late Lane"));
    std::cout << "the order goes to " << address_in(db.get()) << '\n';
    return 0;
}

}  // namespace

int main(int argc, char** argv) try {
    return edit_and_save(argc > 1 ? argv[1] : "quickstart.db");
} catch (const std::exception& error) {
    std::cerr << "quickstart: " << error.what() << '\n';
    return 1;
}
