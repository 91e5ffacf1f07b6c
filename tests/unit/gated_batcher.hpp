#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/batcher.hpp"
#include "unit/echo_store.hpp"
#include "unit/gated_store.hpp"
#include "unit/waiting.hpp"

namespace leasehold::testing {

// Collects the answers to submitted requests. Thread-safe.
class Replies {
public:
    // For the request of that id.
    [[nodiscard]] Batcher::Reply take(const std::string& id) {
        return [this, id](const Outcome& outcome) {
            const std::lock_guard lock{mutex_};
            answers_[id].push_back(echoed(outcome));
            ++count_;
        };
    }

    [[nodiscard]] std::size_t count() const {
        const std::lock_guard lock{mutex_};
        return count_;
    }

    [[nodiscard]] bool wait_for(std::size_t count) const {
        return eventually([&] { return this->count() >= count; });
    }

    // By the id of the request; each has one answer if all is well.
    [[nodiscard]] std::map<std::string, std::vector<std::string>> answers() const {
        const std::lock_guard lock{mutex_};
        return answers_;
    }

    // How many ids were answered otherwise than once with their own echo.
    [[nodiscard]] std::size_t wrong() const {
        std::size_t wrong = 0;
        for (const auto& [id, answers] : answers()) {
            if (answers != std::vector{id}) ++wrong;
        }
        return wrong;
    }

private:
    mutable std::mutex mutex_;
    std::size_t count_ = 0;                                    // guarded by mutex_
    std::map<std::string, std::vector<std::string>> answers_;  // guarded by mutex_
};

// A batcher on a store that echoes, behind a gate.
class GatedBatcher {
public:
    explicit GatedBatcher(Limits wanted = {}, std::size_t concurrency = 1,
                          EchoStore::AnswerOne answer_one = EchoStore::echo_one)
        : limits_{wanted},
          echo_{new EchoStore{concurrency, std::move(answer_one)}},
          gate{std::unique_ptr<Store>{echo_}},
          batcher_{std::make_unique<Batcher>(gate, limits_)} {}

    [[nodiscard]] EchoStore& echo_store() { return *echo_; }

    [[nodiscard]] std::string ask(const std::string& id) { return echoed(batcher_->ask(echo(id))); }

    void submit(const std::string& id) { batcher_->submit(echo(id), replies.take(id)); }

    // The store is at work on one request, and everything that comes now has to gather.
    void keep_busy() {
        gate.close();
        submit("first");
        ASSERT_TRUE(gate.wait_until_held());
    }

    [[nodiscard]] Batcher& batcher() { return *batcher_; }
    void destroy() { batcher_.reset(); }

private:
    const Limits limits_;
    EchoStore* const echo_;  // owned by the gate

public:
    Replies replies;
    GatedStore gate;

private:
    std::unique_ptr<Batcher> batcher_;
};

}  // namespace leasehold::testing
