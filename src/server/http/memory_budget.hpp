#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <iterator>
#include <limits>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace leasehold::server {

// Limits the bytes that the server keeps for clients, for one purpose, such as bodies that are
// being received or answers that are not sent yet. There is a limit for all connections together,
// and one for the connections of each token. A connection keeps one item at a time. Thread-safe.
//
// 1. An item reserves room before it is kept, or grows while it is received, and is refused if
//    there is no room.
// 2. An item that must be kept, as the answer that follows a change of a lease, is counted and
//    never refused. If the token then keeps more than it may, or all keep too much, its items that
//    have been slow for longest are ended.
// 3. The room is given back when the item is not kept any more.
// 4. A token never takes the last room: it gets more only if at least as much is free as it would
//    keep then.
// 5. A slow client makes room for others. If there is too little room, the token that keeps the
//    most loses the item that has been slow for longest, as long as it keeps more than the asking
//    token would. So no token keeps the others from their share.
// 6. Otherwise an item of the asking token itself makes room, if it has been slow for `stalled`: a
//    program that hangs does not disturb the others with the same token.
class MemoryBudget {
public:
    using Moment = std::chrono::steady_clock::time_point;

    // An item up to this size is not counted.
    static constexpr std::size_t small_bytes = 16 * 1024;
    static constexpr std::chrono::seconds stalled{5};
    // A token may keep what the others leave (step 4).
    static constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();

    // Whether a token that keeps nothing is refused if all others keep too much.
    enum class First : std::uint8_t { must_fit, always_fits };

    explicit MemoryBudget(std::size_t in_all, std::size_t per_token = no_limit,
                          First first = First::must_fit)
        : in_all_{in_all}, per_token_{per_token}, first_{first} {}
    MemoryBudget(const MemoryBudget&) = delete;
    MemoryBudget& operator=(const MemoryBudget&) = delete;

    enum class Room : std::uint8_t { enough, token_has_too_much, too_little };

private:
    enum class Must : std::uint8_t { fit, be_counted };

    // What the clients with one token keep.
    struct Account {
        std::size_t bytes = 0;
        std::size_t items = 0;
    };
    using Accounts = std::map<std::string, Account>;
    struct Item {
        Accounts::iterator account;
        std::size_t bytes;
        Moment since{};               // when its client became slow
        std::function<void()> end{};  // set from then on: ends the connection
        bool ended = false;
    };
    using Items = std::list<Item>;

public:
    // The part of one item. Of one thread; the budget outlives this.
    class Share {
    public:
        Share() = default;
        Share(Share&& other) noexcept
            : budget_{std::exchange(other.budget_, nullptr)}, item_{other.item_} {}
        Share& operator=(Share&&) = delete;
        ~Share() { give_back(); }

        // Step 1. `token` is the id of the client's token; empty if it has none.
        [[nodiscard]] Room reserve(MemoryBudget& budget, const std::string& token,
                                   std::size_t bytes, Moment now = Moment::clock::now()) {
            give_back();
            return take(budget, token, bytes, Must::fit, now);
        }
        // Step 1, for an item that has this many bytes now. Without room the share stays as it was.
        // An item that was ended gets no more.
        [[nodiscard]] Room grow_to(MemoryBudget& budget, const std::string& token,
                                   std::size_t bytes, Moment now = Moment::clock::now()) {
            if (!is_counted()) return take(budget, token, bytes, Must::fit, now);
            const std::lock_guard lock{budget_->mutex_};
            return budget_->grow(*item_, bytes, now);
        }
        // Step 2.
        void count(MemoryBudget& budget, const std::string& token, std::size_t bytes) {
            give_back();
            if (bytes > small_bytes) (void)take(budget, token, bytes, Must::be_counted, {});
        }
        [[nodiscard]] bool is_counted() const noexcept { return budget_ != nullptr; }
        // Steps 2, 5 and 6, if the item is counted: its client is slow from now on. `end` is called
        // on any thread, at most once, and must not call the budget.
        void may_be_ended(std::function<void()> end, Moment now = Moment::clock::now()) {
            if (!is_counted()) return;
            const std::lock_guard lock{budget_->mutex_};
            item_->since = now;
            item_->end = std::move(end);
            budget_->items_.splice(budget_->items_.end(), budget_->items_, item_);
            budget_->end_excess(item_->account);
        }
        // Step 3.
        void give_back() noexcept {
            if (budget_ == nullptr) return;
            MemoryBudget& budget = *std::exchange(budget_, nullptr);
            const std::lock_guard lock{budget.mutex_};
            const auto account = item_->account;
            budget.charge(*item_, 0);
            budget.items_.erase(item_);
            if (--account->second.items == 0) budget.by_token_.erase(account);
        }

    private:
        [[nodiscard]] Room take(MemoryBudget& budget, const std::string& token, std::size_t bytes,
                                Must must, Moment now) {
            const std::lock_guard lock{budget.mutex_};
            if (must == Must::fit) {
                const Room room = budget.room_for(token, bytes, now);
                if (room != Room::enough) return room;
            }
            item_ = budget.add(token, bytes);
            budget_ = &budget;
            return Room::enough;
        }

        MemoryBudget* budget_ = nullptr;
        Items::iterator item_{};
    };

    // The bytes that are kept now.
    [[nodiscard]] std::size_t kept() const {
        const std::lock_guard lock{mutex_};
        return kept_;
    }

private:
    // The following under mutex_:

    [[nodiscard]] Items::iterator add(const std::string& token, std::size_t bytes) {
        Items made;
        made.push_back({by_token_.try_emplace(token).first, 0});
        ++made.front().account->second.items;
        charge(made.front(), bytes);
        items_.splice(items_.end(), made);
        return std::prev(items_.end());
    }

    [[nodiscard]] Room grow(Item& item, std::size_t bytes, Moment now) {
        if (item.ended) return Room::too_little;
        if (bytes <= item.bytes) return Room::enough;
        const std::size_t before = item.bytes;
        charge(item, 0);
        auto end = std::exchange(item.end, nullptr);  // it does not make room for itself
        const Room room = room_for(item.account->first, bytes, now);
        item.end = std::move(end);
        charge(item, room == Room::enough ? bytes : before);
        return room;
    }

    // Ends items until there is room.
    [[nodiscard]] Room room_for(const std::string& token, std::size_t bytes, Moment now) {
        const auto with_these = [&] {
            const auto account = by_token_.find(token);
            return bytes + (account == by_token_.end() ? 0 : account->second.bytes);
        };
        if (first_ == First::always_fits && with_these() == bytes) return Room::enough;
        const bool has_limit = !token.empty();
        while (has_limit && with_these() > per_token_) {
            if (!end_stalled(token, now)) return Room::token_has_too_much;
        }
        while (kept_ + (has_limit ? with_these() : bytes) > in_all_) {
            if (end_of_fullest(with_these()) || end_stalled(token, now)) continue;
            const bool keeps_some = has_limit && with_these() > bytes;
            return keeps_some ? Room::token_has_too_much : Room::too_little;
        }
        return Room::enough;
    }

    // Step 2.
    void end_excess(Accounts::iterator account) {
        const auto of_this_token = [&](const Item& item) {
            return item.end && item.account == account;
        };
        const bool has_limit = !account->first.empty();
        while ((has_limit && account->second.bytes > per_token_) || kept_ > in_all_) {
            const auto longest = std::ranges::find_if(items_, of_this_token);
            if (longest == items_.end() || !end(*longest)) return;
        }
    }

    // Step 5.
    [[nodiscard]] bool end_of_fullest(std::size_t more_than) {
        auto slowest = items_.end();
        for (auto at = items_.begin(); at != items_.end(); ++at) {
            if (!at->end || at->account->second.bytes <= more_than) continue;
            slowest = at;
            more_than = at->account->second.bytes;
        }
        return slowest != items_.end() && end(*slowest);
    }

    // Step 6. The items that have been slow for longest come first.
    [[nodiscard]] bool end_stalled(const std::string& token, Moment now) {
        for (Item& item : items_) {
            if (!item.end || item.account->first != token) continue;
            return item.since + stalled <= now && end(item);
        }
        return false;
    }

    // The bytes are free at once; the connection frees their memory in a moment. False for lack of
    // memory.
    [[nodiscard]] bool end(Item& item) noexcept try {
        item.end();
        item.end = nullptr;
        item.ended = true;
        charge(item, 0);
        return true;
    } catch (const std::exception&) {
        return false;
    }

    // Counts this many bytes for the item.
    void charge(Item& item, std::size_t bytes) noexcept {
        Account& account = item.account->second;
        account.bytes = account.bytes - item.bytes + bytes;
        kept_ = kept_ - item.bytes + bytes;
        item.bytes = bytes;
    }

    const std::size_t in_all_;
    const std::size_t per_token_;
    const First first_;
    mutable std::mutex mutex_;
    std::size_t kept_ = 0;  // guarded by mutex_
    Items items_;           // guarded by mutex_
    Accounts by_token_;     // guarded by mutex_; of all in items_
};

}  // namespace leasehold::server
