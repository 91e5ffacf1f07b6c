#include <atomic>
#include <mutex>
#include <stdexcept>
#include <utility>

#include <leasehold/stores/memory.hpp>

#include "conformance/harness.hpp"

namespace leasehold::conformance {
namespace {

// A handle that does not own the leases.
class ForwardingStore final : public Store {
public:
    explicit ForwardingStore(std::shared_ptr<Store> store) : store_{std::move(store)} {}

    void apply(std::span<const Request> requests, std::span<Outcome> outcomes) override {
        store_->apply(requests, outcomes);
    }
    [[nodiscard]] std::size_t concurrency() const noexcept override {
        return store_->concurrency();
    }
    [[nodiscard]] StoreStatus status() override { return store_->status(); }

private:
    std::shared_ptr<Store> store_;
};

class MemoryHarness final : public StoreHarness {
public:
    [[nodiscard]] std::unique_ptr<Store> open(StoreOptions options) override {
        const std::lock_guard lock{mutex_};
        if (!store_) {
            options_ = options;
            // The test moves the clock, so a move is not a leap.
            options.max_clock_leap = std::chrono::years{100};
            store_ = memory::open(options, [this] { return Time{Duration{now_.load()}}; });
        } else if (options.history != options_.history || options.retention != options_.retention) {
            throw std::logic_error{"all handles of one test take the same options"};
        }
        return std::make_unique<ForwardingStore>(store_);
    }

    void let_pass(Duration duration) override { now_ += duration.count(); }

    [[nodiscard]] std::string dump() override {
        constexpr std::size_t everything = 100'000;
        const std::vector<Request> requests{List{.limit = everything},
                                            History{.limit = everything}};
        std::vector<Outcome> outcomes(requests.size());
        store_->apply(requests, outcomes);
        std::string text;
        for (const Holder& holder : std::get<HolderPage>(outcomes[0])) {
            text += describe(holder) + '\n';
        }
        for (const PastLease& past : std::get<HistoryPage>(outcomes[1])) {
            text += std::to_string(past.sequence) + ' ' + describe(past.lease) + ' ' +
                    to_string(past.how) + ' ' + to_string(past.ended_at) + ' ' + past.by + ' ' +
                    past.why + '\n';
        }
        return text;
    }

    [[nodiscard]] std::size_t crowd() const override { return 1000; }

private:
    static std::string describe(const Holder& holder) {
        return holder.key.to_string() + ' ' + holder.owner + ' ' + to_string(holder.mode) + ' ' +
               std::to_string(holder.fence) + ' ' + to_string(holder.granted_at) + ' ' +
               to_string(holder.expires_at) + ' ' + holder.note;
    }

    std::atomic<Duration::rep> now_{
        std::chrono::floor<Duration>(std::chrono::system_clock::now()).time_since_epoch().count()};
    std::mutex mutex_;
    StoreOptions options_{};        // guarded by mutex_
    std::shared_ptr<Store> store_;  // made under mutex_
};

}  // namespace

std::unique_ptr<StoreHarness> make_memory_harness() {
    return std::make_unique<MemoryHarness>();
}

}  // namespace leasehold::conformance
