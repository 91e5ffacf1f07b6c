#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/batcher.hpp"

namespace leasehold::lab {

// A batcher on a store, as in a server, in simulated time. The store decides on a batch when the
// batch begins, and is busy with it until finish() is called. For one thread.
class SimulatedServer {
public:
    using Open = std::function<std::unique_ptr<Store>()>;

    explicit SimulatedServer(Open open);

    // Returns true if this began a batch: then finish() is due.
    [[nodiscard]] bool submit(Request request, Batcher::Reply reply);

    // Delivers every answer of the batch. With `dies` the server crashes first: no answer is
    // delivered, and it restarts with a new connection. Returns true if the next batch has begun.
    enum class Fate : std::uint8_t { answers, dies };
    [[nodiscard]] bool finish(Fate fate);

private:
    // The current connection.
    class Connection final : public Store {
    public:
        void apply(std::span<const Request> requests, std::span<Outcome> outcomes) override {
            store->apply(requests, outcomes);
        }
        [[nodiscard]] std::size_t concurrency() const noexcept override { return 1; }
        [[nodiscard]] StoreStatus status() override { return store->status(); }

        std::unique_ptr<Store> store;
    };
    struct Answer {
        Batcher::Reply reply;
        Outcome outcome;
    };

    const Open open_;
    const Limits limits_{.busy_patience = Duration{0}};  // that would be in real time
    Connection connection_;
    bool busy_ = false;
    std::vector<Answer> answers_;  // of the batch under way
    Batcher batcher_{connection_, limits_, {.dispatch = Batcher::Options::Dispatch::by_caller}};
};

}  // namespace leasehold::lab
