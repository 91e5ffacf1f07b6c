#include <leasehold/stores/etcd.hpp>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <atomic>
#include <stdexcept>
#include <string>

#include "conformance/harness.hpp"
#include "stores/etcd/gateway.hpp"
#include "stores/etcd/names.hpp"
#include "stores/etcd/records.hpp"
#include "stores/etcd/schema.hpp"
#include "stores/etcd/txn.hpp"
#include "support/private_etcd.hpp"

namespace leasehold::conformance {
namespace {

// A prefix of its own for every test.
etcd::Cluster new_target() {
    static std::atomic<int> number{0};
    return {.endpoints = {{.port = leasehold::testing::shared_etcd().port()}},
            .prefix = "conformance-" + std::to_string(++number)};
}

// Moves time as if a server had run all the time: the steady clocks of all handles leap, and the
// clock key follows them.
class EtcdHarness final : public StoreHarness {
public:
    EtcdHarness() {
        (void)open({});
        began_ = Time{} + (clock().time_since_epoch() - steady_at_start_.time_since_epoch());
    }

    std::unique_ptr<Store> open(StoreOptions options) override {
        return etcd::open(target_, options, [this] { return steady(); });
    }

    std::unique_ptr<Store> open_later_version() override {
        etcd::KeySteps steps = etcd::schema_steps();
        steps.emplace_back([](const etcd::KeyAccess& keys, const etcd::Names& names) {
            etcd::Txn txn;
            txn.put(names.nobody(), "of the later version");
            (void)keys.send(txn);
        });
        return etcd::open_with(steps, target_, {}, [this] { return steady(); });
    }

    void become_version_1() override {
        for (const etcd::KeyValue& pair : read({target_.prefix + '/', target_.prefix + '0'})) {
            // Only leases that were taken without a token have no such field.
            if (pair.value.contains("token_id")) throw std::logic_error{"there is a token id"};
        }
        etcd::Txn txn;
        txn.put(names_.format(), etcd::format_of(1));
        (void)gateway_.post("/v3/kv/txn", txn.body(), StoreFault::Effect::none);
    }

    void overwrite(const std::string& field, int number) override {
        for (const etcd::KeyValue& pair : read({target_.prefix + '/', target_.prefix + '0'})) {
            boost::system::error_code not_json;
            boost::json::value value = boost::json::parse(pair.value, not_json);
            if (not_json || !value.is_object()) continue;
            value.get_object()[field] = number;
            etcd::Txn txn;
            txn.put(pair.key, boost::json::serialize(value));
            (void)gateway_.post("/v3/kv/txn", txn.body(), StoreFault::Effect::none);
        }
    }

    void let_pass(Duration duration) override {
        // A handle counts a little less time than it sees pass, because some clocks run fast.
        constexpr int allowance = 499;
        ahead_ += (duration + duration / allowance).count();
        passed_ += duration;
        const Time time = began_ + (SteadyClock::now() - SteadyClock::time_point{}) + passed_;
        etcd::Txn txn;
        txn.put(names_.clock(), etcd::print(time));
        (void)gateway_.post("/v3/kv/txn", txn.body(), StoreFault::Effect::none);
    }

    // Without the clock key.
    std::string dump() override {
        std::string text;
        for (const etcd::KeyValue& pair : read({target_.prefix + '/', target_.prefix + '0'})) {
            if (pair.key != names_.clock()) text += pair.key + ' ' + pair.value + '\n';
        }
        return text;
    }

    [[nodiscard]] std::size_t crowd() const override { return 32; }

private:
    [[nodiscard]] SteadyClock::time_point steady() const {
        return SteadyClock::now() + Duration{ahead_.load()};
    }

    std::vector<etcd::KeyValue> read(const etcd::KeyRange& range) {
        return etcd::page_from(gateway_.post("/v3/kv/range", etcd::range_body(range, 0),
                                             StoreFault::Effect::none))
            .pairs;
    }

    Time clock() { return etcd::time_from(read({names_.clock()}).at(0).value).value(); }

    const etcd::Cluster target_ = new_target();
    const etcd::Names names_{target_.prefix};
    etcd::Members members_{1};
    etcd::Gateway gateway_{target_, std::chrono::seconds{10}, members_};
    std::atomic<Duration::rep> ahead_{0};
    const SteadyClock::time_point steady_at_start_ = SteadyClock::now();
    Time began_{};  // the clock less the steady clock, at most
    Duration passed_{};
};

}  // namespace

std::unique_ptr<StoreHarness> make_etcd_harness() {
    return std::make_unique<EtcdHarness>();
}

}  // namespace leasehold::conformance
