#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <leasehold/store.hpp>
#include <string>
#include <thread>
#include <vector>

namespace leasehold::testing {

// A request that an EchoStore answers with its own key. It weighs as much as a try.
[[nodiscard]] inline Request echo(const std::string& id) {
    return History{.key = LockKey{"Echo", id}, .limit = 1};
}

// The id that was echoed, or what came instead.
[[nodiscard]] inline std::string echoed(const Outcome& outcome) {
    if (const auto* holders = std::get_if<HolderPage>(&outcome)) {
        return std::string{holders->size() == 1 ? holders->front().key.id() : "not one holder"};
    }
    if (const auto* refusal = std::get_if<Refusal>(&outcome)) return to_string(refusal->kind);
    if (const auto* fault = std::get_if<StoreFault>(&outcome)) {
        return std::string{"fault: "} + fault->what();
    }
    return "nothing";
}

// Answers each request of echo() with its key, and notices when more callers are inside than it
// allows. Thread-safe.
class EchoStore final : public Store {
public:
    // `answer_one` replaces the echo of a request; what it throws ends the batch.
    using AnswerOne = std::function<Outcome(const Request&)>;

    explicit EchoStore(std::size_t concurrency = 1, AnswerOne answer_one = echo_one)
        : concurrency_{concurrency}, answer_one_{std::move(answer_one)} {}

    [[nodiscard]] static Outcome echo_one(const Request& request) {
        return HolderPage{.items = {Holder{.key = *std::get<History>(request).key}}};
    }

    [[nodiscard]] bool was_overrun() const noexcept { return overrun_; }
    [[nodiscard]] std::thread::id last_thread() const noexcept { return last_thread_; }

    void apply(std::span<const Request> requests, std::span<Outcome> outcomes) override {
        if (++inside_ > concurrency_) overrun_ = true;
        last_thread_ = std::this_thread::get_id();
        const Leaving leaving{inside_};
        for (std::size_t i = 0; i < requests.size(); ++i) outcomes[i] = answer_one_(requests[i]);
    }

    [[nodiscard]] std::size_t concurrency() const noexcept override { return concurrency_; }
    [[nodiscard]] StoreStatus status() override { return {.name = "echo"}; }

private:
    struct Leaving {
        std::atomic<std::size_t>& inside;
        ~Leaving() { --inside; }
    };

    const std::size_t concurrency_;
    const AnswerOne answer_one_;
    std::atomic<std::size_t> inside_{0};
    std::atomic<bool> overrun_{false};
    std::atomic<std::thread::id> last_thread_{};
};

}  // namespace leasehold::testing
