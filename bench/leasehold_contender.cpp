#include <leasehold/lock_manager.hpp>

#include "contender.hpp"
#include "cycle.hpp"

namespace leasehold::bench {
namespace {

class LeaseholdContender final : public Contender {
public:
    explicit LeaseholdContender(LockManager& locks) : locks_{locks} {}

    void run_cycles(std::size_t thread, const std::atomic<bool>& stop,
                    std::atomic<std::uint64_t>& cycles) override {
        count_cycles(thread, stop, cycles, [this](std::string id) {
            const LockKey key{cycle_type, std::move(id)};
            const auto lease = locks_.try_lock(key, {.ttl = cycle_ttl});
            expect(lease.has_value(), "try");
            expect(locks_.check(key, lease->lock_id).has_value(), "check");
            expect(locks_.extend(key, lease->lock_id, cycle_extension).has_value(), "extend");
            expect(locks_.release(key, lease->lock_id).has_value(), "release");
        });
    }

private:
    LockManager& locks_;
};

}  // namespace

std::unique_ptr<Contender> make_leasehold(LockManager& locks) {
    return std::make_unique<LeaseholdContender>(locks);
}

}  // namespace leasehold::bench
