#pragma once

#include <functional>
#include <latch>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "conformance/conformance.hpp"

namespace leasehold::conformance {

// Runs work in eight handles at once, as in eight processes.
template <class Harness>
class InSituation : public OnStore<Harness> {
protected:
    // Eight threads at once, each with a handle of its own.
    void eight(const std::function<void(int, LockManager&)>& work) {
        while (handles_.size() < 8) handles_.push_back(this->manager());
        std::latch start{8};
        std::mutex mutex;
        std::set<std::string> problems;  // guarded by mutex
        {
            std::vector<std::jthread> threads;
            for (int i = 0; i < 8; ++i) {
                threads.emplace_back([&, i] {
                    start.arrive_and_wait();
                    try {
                        work(i, *handles_[static_cast<std::size_t>(i)]);
                    } catch (const std::exception& problem) {
                        const std::lock_guard lock{mutex};
                        problems.insert(problem.what());
                    }
                });
            }
        }
        EXPECT_EQ(problems, std::set<std::string>{});
    }

    // Eight try at once: one wins and still has it afterwards, the others are refused as held.
    void expect_one_winner(const std::function<Result<Lease>(int, LockManager&)>& ask) {
        std::mutex mutex;
        std::vector<Lease> winners;     // guarded by mutex
        std::vector<Refusal> refusals;  // guarded by mutex
        eight([&](int i, LockManager& locks) {
            auto result = ask(i, locks);
            const std::lock_guard lock{mutex};
            if (result)
                winners.push_back(*std::move(result));
            else
                refusals.push_back(std::move(result.error()));
        });
        ASSERT_EQ(winners.size(), 1U);
        EXPECT_TRUE(granted(this->locks().check(winners.front().lock_id)));
        for (const Refusal& refusal : refusals) EXPECT_EQ(refusal.kind, Refusal::Kind::held);
    }

    const LockKey key_{"Order", "1"};

private:
    std::vector<std::unique_ptr<LockManager>> handles_;
};

}  // namespace leasehold::conformance
