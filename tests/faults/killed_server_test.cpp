// The database, or the store's session, is killed while many threads work. Every key belongs to one
// thread, so that each answer can be checked: what was answered before the crash must still hold
// after it.
#include <atomic>
#include <optional>
#include <stdexcept>

#include "faults/databases.hpp"

namespace leasehold::faults {
namespace {

constexpr int workers = 4;
constexpr int keys_per_worker = 25;
constexpr int kills = 3;
constexpr int session_kills = 30, most_session_kills = 300;
constexpr int grants_around_a_kill = 100;

// Each test has a server of its own, because recovery takes longer with more databases.
class KilledServer : public ::testing::TestWithParam<On<Server>> {
protected:
    Server& server() { return *server_; }
    std::string url() const { return server_->url("locks"); }

private:
    std::unique_ptr<Server> server_ = GetParam().make({});
};
INSTANTIATE_TEST_SUITE_P(, KilledServer, ::testing::ValuesIn(every_server()), by_store());

class KilledSession : public ServerTest {};
INSTANTIATE_TEST_SUITE_P(, KilledSession, ::testing::ValuesIn(every_server()), by_store());

// What one thread knows about one key.
struct Known {
    LockKey key;
    std::optional<Lease> held{};
    std::optional<LockId> released{};  // the last one that was
    Fence fence = 0;
};

struct Counts {
    std::atomic<int> grants = 0;
    std::atomic<int> releases = 0;
    std::atomic<int> faults = 0;
    std::atomic<bool> stop = false;
};

class Worker {
public:
    Worker(LockManager& locks, int number, Counts& counts) : locks_{locks}, counts_{counts} {
        for (int i = 0; i < keys_per_worker; ++i) {
            keys_.push_back({{"Order", std::to_string(number) + "-" + std::to_string(i)}});
        }
    }

    void work() {
        for (std::size_t turn = 0; !counts_.stop; ++turn) {
            Known& known = keys_[turn * 7 % keys_.size()];
            if (known.held) {
                release(known);
            } else {
                take(known);
            }
        }
    }

    // After the last crash.
    void verify() {
        for (const Known& known : keys_) {
            if (known.held) {
                const auto lease = locks_.check(known.key, known.held->lock_id);
                ASSERT_TRUE(lease) << known.key.to_string() << ": " << lease.error().message();
                EXPECT_EQ(lease->fence, known.held->fence);
                EXPECT_EQ(lease->expires_at, known.held->expires_at);
            }
            if (known.released) {
                EXPECT_TRUE(is_gone(locks_.check(known.key, *known.released), Gone::released))
                    << known.key.to_string();
            }
        }
    }

private:
    // Repeats the request with the same lock id after a fault, whatever its effect, until there is
    // an answer.
    template <class Ask>
    std::optional<Result<Lease>> insist(Ask ask) {
        const auto deadline = SteadyClock::now() + 120s;
        while (SteadyClock::now() < deadline) {
            try {
                Result<Lease> answer = ask();
                if (answer || answer.error().kind != Refusal::Kind::busy) return answer;
            } catch (const StoreFault& fault) {
                EXPECT_EQ(fault.cause(), Cause::unavailable) << fault.what();
                ++counts_.faults;
                std::this_thread::sleep_for(5ms);
            }
        }
        ADD_FAILURE() << "the store did not recover";
        counts_.stop = true;
        return std::nullopt;
    }

    void take(Known& known) {
        const LockId id = LockId::random();
        const auto lease = insist([&] {
            return locks_.try_lock(known.key, {.owner = "worker", .ttl = 1h, .lock_id = id});
        });
        if (!lease) return;
        ASSERT_TRUE(*lease) << known.key.to_string() << " was free: " << lease->error().message();
        EXPECT_EQ((*lease)->lock_id, id);
        EXPECT_GT((*lease)->fence, known.fence) << known.key.to_string();
        known.fence = (*lease)->fence;
        known.held = **lease;
        ++counts_.grants;
    }

    void release(Known& known) {
        const LockId id = known.held->lock_id;
        const auto answer = insist([&] { return locks_.release(known.key, id); });
        if (!answer) return;
        EXPECT_TRUE(*answer || is_gone(*answer, Gone::released))
            << known.key.to_string() << " was held: " << answer->error().message();
        known.released = id;
        known.held.reset();
        ++counts_.releases;
    }

    LockManager& locks_;
    Counts& counts_;
    std::vector<Known> keys_;
};

// Many threads at work with one manager.
class Crew {
public:
    explicit Crew(LockManager& locks) {
        for (int i = 0; i < workers; ++i) workers_.emplace_back(locks, i, counts_);
        for (Worker& worker : workers_) threads_.emplace_back([&worker] { worker.work(); });
    }
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;
    ~Crew() { counts_.stop = true; }

    [[nodiscard]] bool make_progress(int grants) {
        const int before = counts_.grants;
        return eventually([&] { return counts_.stop || counts_.grants >= before + grants; },
                          120s) &&
               !counts_.stop;
    }
    [[nodiscard]] bool meets_a_fault() {
        const int before = counts_.faults;
        return eventually([&] { return counts_.faults > before; });
    }
    // Ends the work and checks every key.
    void verify() {
        counts_.stop = true;
        threads_.clear();
        for (Worker& worker : workers_) worker.verify();
    }

    [[nodiscard]] const Counts& counts() const { return counts_; }

private:
    Counts counts_;
    std::vector<Worker> workers_;
    std::vector<std::jthread> threads_;
};

TEST_P(KilledServer, LosesNothingThatWasAnsweredAndTheManagerGoesOnByItself) {
    LockManager locks{open_store(url() + "?io_timeout_ms=5000")};
    Crew crew{locks};
    ASSERT_TRUE(crew.make_progress(grants_around_a_kill));
    for (int i = 0; i < kills; ++i) {
        server().kill();
        EXPECT_TRUE(crew.meets_a_fault());
        server().start();
        ASSERT_TRUE(crew.make_progress(grants_around_a_kill)) << "after kill number " << i + 1;
    }
    crew.verify();
    EXPECT_GE(crew.counts().grants, (kills + 1) * grants_around_a_kill);
    EXPECT_GE(crew.counts().releases, grants_around_a_kill);
}

TEST_P(KilledServer, ThatIsBackBeforeAnybodyAsksIsNotNoticed) {
    LockManager locks{open_store(url())};
    const auto lease = locks.try_lock({"Order", "1"});
    ASSERT_TRUE(lease);
    const auto restart = [&] {
        server().kill();
        server().start();
    };
    restart();
    EXPECT_EQ(locks.list().size(), 1U);
    restart();
    EXPECT_TRUE(locks.check(lease->lock_id));
    restart();
    EXPECT_TRUE(locks.release(lease->lock_id));
    restart();
    EXPECT_EQ(locks.history().size(), 1U);
}

TEST_P(KilledSession, LosesNothingThatWasAnsweredAtWhateverMoment) {
    LockManager locks{open_store(url("io_timeout_ms=5000"))};
    Crew crew{locks};
    const auto administrator = connect();
    const bool on_postgres = std::string_view{GetParam().store} == "postgres";
    // Killing an idle session causes no fault.
    const auto enough = [&](int done) {
        return done >= session_kills && crew.counts().faults >= session_kills / 2;
    };
    for (int i = 0; !enough(i) && i < most_session_kills; ++i) {
        ASSERT_TRUE(crew.make_progress(10 + i % 7));
        if (!on_postgres) {
            for (const auto& row :
                 administrator->run("select id from information_schema.processlist where db = "
                                    "database() and id <> "
                                    "connection_id()")) {
                // The session may have ended already.
                try {
                    administrator->run("kill " + row.front());
                } catch (const std::runtime_error&) {
                }
            }
        } else {
            administrator->run(
                "select pg_terminate_backend(pid) from pg_stat_activity where pid <> "
                "pg_backend_pid() and datname = current_database()");
        }
    }
    ASSERT_TRUE(crew.make_progress(grants_around_a_kill));
    crew.verify();
    EXPECT_GE(crew.counts().faults, session_kills / 2);
}

}  // namespace
}  // namespace leasehold::faults
