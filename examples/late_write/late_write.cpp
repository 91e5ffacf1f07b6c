// What a lease alone cannot do: Alice's program is stopped while it holds a lease, Bob takes over,
// and then Alice's goes on as if nothing had happened. Shows three ways to save, and their results.
#include <leasehold/leasehold.hpp>
#include <leasehold/stores/sqlite.hpp>

#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <iostream>
#include <memory>
#include <thread>

using namespace std::chrono_literals;

namespace {

enum class Saving { plain, guarded, fenced };

// The orders, and with each the greatest fence that has written it.
class Orders {
public:
    explicit Orders(const std::string& file) {
        sqlite3* raw = nullptr;
        sqlite3_open(file.c_str(), &raw);
        db_.reset(raw);
        sqlite3_busy_timeout(raw, 5000);
        run("create table if not exists orders (id text primary key, address text, fence integer)");
    }

    std::string save(Saving how, const leasehold::Lease& lease, const std::string& address) {
        const std::string fence = std::to_string(lease.fence);
        run("begin immediate");
        if (how == Saving::guarded) {
            const auto alive = leasehold::sqlite::guard(db_.get(), lease.key, lease.lock_id);
            if (!alive) {
                run("rollback");
                return "refused: " + alive.error().message();
            }
        }
        const std::string condition =
            how == Saving::fenced ? " where excluded.fence >= orders.fence" : "";
        run("insert into orders values ('1', '" + address + "', " + fence +
            ") on conflict (id) do update set address = excluded.address, fence = excluded.fence" +
            condition);
        const bool written = sqlite3_changes(db_.get()) == 1;
        run("commit");
        return written ? "saved" : "refused: a later fence has written it";
    }

    std::string address() {
        std::string found;
        const auto take = [](void* into, int, char** values, char**) {
            *static_cast<std::string*>(into) = values[0];
            return 0;
        };
        sqlite3_exec(db_.get(), "select address from orders where id = '1'", take, &found, nullptr);
        return found;
    }

private:
    void run(const std::string& sql) {
        if (sqlite3_exec(db_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
            throw std::runtime_error{sql + ": " + sqlite3_errmsg(db_.get())};
    }

    std::unique_ptr<sqlite3, decltype(&sqlite3_close)> db_{nullptr, sqlite3_close};
};

const leasehold::LockKey order{"Order", "1"};

// Alice's program: it takes the order, asks whether the lease is alive, is stopped just then, and
// saves when it goes on.
void be_alice(const std::string& file, Saving how) {
    leasehold::LockManager locks{leasehold::open_store("sqlite:" + file)};
    const auto lease = locks.try_lock(order, {.owner = "alice", .ttl = 300ms});
    if (lease && locks.check(order, lease->lock_id)) {
        std::raise(SIGSTOP);
        std::cout << "  alice saves late: " << Orders{file}.save(how, *lease, "1 Old Road") << '\n'
                  << std::flush;
    }
}

void show(const std::string& file, Saving how, const char* title) {
    std::cout << title << '\n' << std::flush;
    const pid_t alice = fork();
    if (alice == 0) {
        be_alice(file, how);
        _exit(0);
    }
    int status = 0;
    waitpid(alice, &status, WUNTRACED);
    leasehold::LockManager locks{leasehold::open_store("sqlite:" + file)};
    auto bob = locks.try_lock(order, {.owner = "bob"});
    while (!bob) {
        std::this_thread::sleep_for(20ms);
        bob = locks.try_lock(order, {.owner = "bob"});
    }
    Orders orders{file};
    std::cout << "  alice is stopped, her lease runs out, bob takes over: "
              << orders.save(how, *bob, "12 Elm Street") << '\n'
              << std::flush;
    kill(alice, SIGCONT);
    waitpid(alice, &status, 0);
    std::cout << "  the order says: " << orders.address() << '\n';
    locks.release(order, bob->lock_id);
}

}  // namespace

int main(int argc, char** argv) try {
    const std::string file = argc > 1 ? argv[1] : "late_write.db";
    show(file, Saving::plain, "check, then save");
    show(file, Saving::guarded, "save under guard");
    show(file, Saving::fenced, "save with the fence");
} catch (const std::exception& error) {
    std::cerr << "late_write: " << error.what() << '\n';
    return 1;
}
