#include <leasehold/stores/etcd.hpp>

#include <boost/json/object.hpp>

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "core/cached_status.hpp"
#include "stores/etcd/batch_runner.hpp"
#include "stores/etcd/watch.hpp"

namespace leasehold::etcd {
namespace {

namespace json = boost::json;

// How many batches are under way at once. etcd flushes the changes of all of them together.
constexpr std::size_t runner_count = 4;

StoreStatus read_status(Shared& shared, const std::stop_token& ended) {
    Gateway gateway{shared.target, shared.options.io_timeout, shared.members, ended};
    const json::value version = gateway.get("/version");
    const json::value* const number = version.get_object().if_contains("etcdserver");
    StoreStatus status{.name = "etcd", .durability = Durability::strong};
    if (number != nullptr && number->is_string()) {
        status.name += ' ' + std::string{number->get_string()};
    }
    const json::value alarms =
        gateway.post("/v3/maintenance/alarm", R"({"action":"GET"})", StoreFault::Effect::none);
    if (alarms.get_object().contains("alarms")) {
        status.warnings.emplace_back(
            "etcd has raised an alarm: see `etcdctl alarm list`; with NOSPACE it refuses to write");
    }
    return status;
}

class EtcdStore final : public Store {
public:
    EtcdStore(const KeySteps& steps, const Cluster& target, const StoreOptions& options,
              std::function<SteadyClock::time_point()> steady)
        : shared_{steps, target, options, steady ? std::move(steady) : &SteadyClock::now},
          status_{[this](const std::stop_token& ended) { return read_status(shared_, ended); }} {
        for (std::size_t i = 0; i < runner_count; ++i) {
            runners_.push_back(std::make_unique<BatchRunner>(shared_));
            free_.insert(i);
        }
        runners_.front()->prepare();
    }

    void apply(std::span<const Request> requests, std::span<Outcome> outcomes) override {
        status_.refresh_if_old();
        const Turn turn{*this};
        turn.runner().apply(requests, outcomes);
    }

    [[nodiscard]] std::size_t concurrency() const noexcept override { return runner_count; }

    [[nodiscard]] bool keep_house() noexcept override {
        const Turn turn{*this};
        return turn.runner().keep_house();
    }

    [[nodiscard]] StoreStatus status() override { return status_.status(); }

    [[nodiscard]] std::unique_ptr<StoreWatch> open_watch() override {
        return make_watch(shared_.target, shared_.options.io_timeout);
    }

private:
    // The runner of one call: the first free one, so that a purge continues where it stopped.
    class Turn {
    public:
        explicit Turn(EtcdStore& store) : store_{store} {
            std::unique_lock lock{store.mutex_};
            store.freed_.wait(lock, [&] { return !store.free_.empty(); });
            runner_ = *store.free_.begin();
            store.free_.erase(store.free_.begin());
        }
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;
        ~Turn() {
            {
                const std::lock_guard lock{store_.mutex_};
                store_.free_.insert(runner_);
            }
            store_.freed_.notify_one();
        }
        [[nodiscard]] BatchRunner& runner() const { return *store_.runners_[runner_]; }

    private:
        EtcdStore& store_;
        std::size_t runner_;
    };

    Shared shared_;
    std::vector<std::unique_ptr<BatchRunner>> runners_;
    std::mutex mutex_;
    std::condition_variable freed_;
    std::set<std::size_t> free_;  // guarded by mutex_
    CachedStatus status_;
};

}  // namespace

std::unique_ptr<Store> open(const Cluster& target, StoreOptions options,
                            std::function<SteadyClock::time_point()> steady) {
    if (target.endpoints.empty()) throw BadRequest{"etcd: no endpoint is given"};
    return open_with(schema_steps(), target, options, std::move(steady));
}

std::unique_ptr<Store> open_with(const KeySteps& steps, const Cluster& target,
                                 const StoreOptions& options,
                                 std::function<SteadyClock::time_point()> steady) {
    auto store = std::make_unique<EtcdStore>(steps, target, options, std::move(steady));
    require_durability(options, store->status());
    return store;
}

}  // namespace leasehold::etcd
