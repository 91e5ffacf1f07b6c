#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

namespace leasehold::server {

// How many bytes of answers that are not sent yet are kept at once: of all connections together,
// and of those that use the same token. A connection has one answer at a time. Thread-safe.
//
// 1. A request for rows reserves room for its answer before the store is asked, and is refused if
//    there is none.
// 2. When the answer is made, its real size is counted instead. Small answers, and those that
//    follow a change of a lease, are never refused; the latter are counted if they are large.
// 3. The room is given back when the answer has been sent, or the connection has ended.
class AnswerBudget {
public:
    // An answer up to this size is not counted.
    static constexpr std::size_t small_bytes = 16 * 1024;

    AnswerBudget(std::size_t in_all, std::size_t per_token)
        : in_all_{in_all}, per_token_{per_token} {}
    AnswerBudget(const AnswerBudget&) = delete;
    AnswerBudget& operator=(const AnswerBudget&) = delete;

    enum class Room : std::uint8_t { enough, token_has_too_much, too_little };

private:
    enum class Must : std::uint8_t { fit, be_counted };

public:
    // The part of one answer. Of one thread; the budget outlives this.
    class Share {
    public:
        Share() = default;
        Share(Share&& other) noexcept
            : budget_{std::exchange(other.budget_, nullptr)},
              token_{std::move(other.token_)},
              bytes_{std::exchange(other.bytes_, 0)} {}
        Share& operator=(Share&&) = delete;
        ~Share() { give_back(); }

        // Step 1. `token` is the name of the client's token; empty if it has none.
        [[nodiscard]] Room reserve(AnswerBudget& budget, const std::string& token,
                                   std::size_t bytes) {
            give_back();
            return take(budget, token, bytes, Must::fit);
        }
        // Step 2.
        void count(AnswerBudget& budget, const std::string& token, std::size_t bytes) {
            give_back();
            if (bytes <= small_bytes) return;
            (void)take(budget, token, bytes, Must::be_counted);
        }
        // Step 3.
        void give_back() noexcept {
            if (budget_ != nullptr) budget_->give_back(token_, std::exchange(bytes_, 0));
            budget_ = nullptr;
        }

    private:
        [[nodiscard]] Room take(AnswerBudget& budget, const std::string& token, std::size_t bytes,
                                Must must) {
            token_ = token;
            const Room room = budget.take(token, bytes, must);
            if (room != Room::enough) return room;
            budget_ = &budget;
            bytes_ = bytes;
            return room;
        }

        AnswerBudget* budget_ = nullptr;
        std::string token_;
        std::size_t bytes_ = 0;
    };

    // The bytes that are kept now.
    [[nodiscard]] std::size_t kept() const {
        const std::lock_guard lock{mutex_};
        return kept_;
    }

private:
    [[nodiscard]] Room take(const std::string& token, std::size_t bytes, Must must) {
        const std::lock_guard lock{mutex_};
        if (must == Must::fit && kept_ + bytes > in_all_) return Room::too_little;
        if (!token.empty()) {
            std::size_t& of_token = by_token_[token];
            if (must == Must::fit && of_token + bytes > per_token_) return Room::token_has_too_much;
            of_token += bytes;
        }
        kept_ += bytes;
        return Room::enough;
    }

    void give_back(const std::string& token, std::size_t bytes) noexcept {
        const std::lock_guard lock{mutex_};
        kept_ -= bytes;
        if (const auto at = by_token_.find(token); at != by_token_.end()) {
            at->second -= bytes;
            if (at->second == 0) by_token_.erase(at);
        }
    }

    const std::size_t in_all_;
    const std::size_t per_token_;
    mutable std::mutex mutex_;
    std::size_t kept_ = 0;                                   // guarded by mutex_
    std::unordered_map<std::string, std::size_t> by_token_;  // guarded by mutex_
};

}  // namespace leasehold::server
