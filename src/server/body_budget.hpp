#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>

namespace leasehold::server {

// How many bytes of requests' bodies are kept at once, of all connections together. Thread-safe.
class BodyBudget {
public:
    explicit BodyBudget(std::size_t bytes) : all_{bytes}, left_{bytes} {}
    BodyBudget(const BodyBudget&) = delete;
    BodyBudget& operator=(const BodyBudget&) = delete;

    // A share, which is given back when it is destroyed and does not outlive this. Nothing where
    // there is not so much left; who asks for more than all has to get all.
    [[nodiscard]] std::shared_ptr<void> take(std::size_t bytes) {
        bytes = std::min(bytes, all_);
        std::size_t left = left_;
        do {
            if (left < bytes) return nullptr;
        } while (!left_.compare_exchange_weak(left, left - bytes));
        return {this, [bytes](BodyBudget* budget) { budget->left_ += bytes; }};
    }

private:
    const std::size_t all_;
    std::atomic<std::size_t> left_;
};

}  // namespace leasehold::server
