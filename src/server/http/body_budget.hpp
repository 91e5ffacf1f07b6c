#pragma once

#include <atomic>
#include <cstddef>
#include <utility>

namespace leasehold::server {

// Bounds the bytes of large bodies that all connections together keep in memory. Thread-safe.
class BodyBudget {
public:
    explicit BodyBudget(std::size_t bytes) : left_{bytes} {}
    BodyBudget(const BodyBudget&) = delete;
    BodyBudget& operator=(const BodyBudget&) = delete;

    // The part that one body takes. The destructor gives it back. Not thread-safe.
    class Share {
    public:
        Share() = default;
        Share(Share&& other) noexcept
            : budget_{std::exchange(other.budget_, nullptr)},
              bytes_{std::exchange(other.bytes_, 0)} {}
        Share& operator=(Share&&) = delete;
        ~Share() { give_back(); }

        // Takes more from the budget, so that the share has this many bytes. False, and nothing is
        // taken, if the budget has too little left. A share uses one budget only, which outlives
        // it.
        [[nodiscard]] bool grow_to(std::size_t bytes, BodyBudget& budget) {
            if (bytes <= bytes_) return true;
            if (!budget.take(bytes - bytes_)) return false;
            budget_ = &budget;
            bytes_ = bytes;
            return true;
        }
        void give_back() {
            if (budget_ != nullptr) budget_->left_ += std::exchange(bytes_, 0);
        }

    private:
        BodyBudget* budget_ = nullptr;
        std::size_t bytes_ = 0;
    };

private:
    [[nodiscard]] bool take(std::size_t bytes) {
        std::size_t left = left_;
        do {
            if (left < bytes) return false;
        } while (!left_.compare_exchange_weak(left, left - bytes));
        return true;
    }

    std::atomic<std::size_t> left_;
};

}  // namespace leasehold::server
