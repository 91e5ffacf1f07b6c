#include "lab/load.hpp"

#include <future>
#include <utility>

#include <leasehold/open_store.hpp>

#include "lab/client.hpp"

namespace leasehold::lab {
namespace {

// A store that passes requests on to a LockManager, so that its batches are recorded like those of
// any store.
class ManagedStore final : public Store {
public:
    explicit ManagedStore(std::shared_ptr<LockManager> manager) : manager_{std::move(manager)} {}

    void apply(std::span<const Request> requests, std::span<Outcome> outcomes) override {
        std::vector<std::promise<Outcome>> answers(requests.size());
        for (std::size_t i = 0; i < requests.size(); ++i) {
            manager_->submit(requests[i],
                             [&answer = answers[i]](Outcome told) { answer.set_value(told); });
        }
        for (std::size_t i = 0; i < requests.size(); ++i)
            outcomes[i] = answers[i].get_future().get();
    }
    [[nodiscard]] std::size_t concurrency() const noexcept override { return any_number; }
    [[nodiscard]] StoreStatus status() override { return manager_->status(); }

private:
    const std::shared_ptr<LockManager> manager_;
};

bool is_granted(const Request& request, const Outcome& outcome) {
    return (std::holds_alternative<TryLock>(request) && std::holds_alternative<Lease>(outcome)) ||
           (std::holds_alternative<TryLockAll>(request) &&
            std::holds_alternative<std::vector<Lease>>(outcome));
}

Outcome ask_once(Store& store, const Request& request) {
    Outcome outcome;
    try {
        store.apply({&request, 1}, {&outcome, 1});
    } catch (const StoreFault& fault) {
        outcome = fault;
    }
    return outcome;
}

}  // namespace

Load::Load(LoadOptions options)
    : options_{std::move(options)}, recorder_{std::make_shared<Recorder>(options_.record)} {
    for (std::size_t i = 0; i < options_.clients; ++i) {
        threads_.emplace_back([this, i](const std::stop_token& stop) { work(stop, i); });
    }
}

Load::~Load() {
    for (std::jthread& thread : threads_) thread.request_stop();
}

std::unique_ptr<Store> Load::open() {
    if (options_.connections == LoadOptions::Connections::each) return open_store(options_.url);
    const std::lock_guard lock{mutex_};
    if (!manager_) manager_ = std::make_shared<LockManager>(open_store(options_.url));
    return std::make_unique<ManagedStore>(manager_);
}

void Load::work(const std::stop_token& stop, std::size_t number) {
    Client client{options_.name + '-' + std::to_string(number), some_keys(options_.keys),
                  options_.seed * 1000 + number};
    std::unique_ptr<Store> store;
    std::optional<Request> again;
    while (!stop.stop_requested()) {
        std::this_thread::sleep_for(client.dice().between(Duration{0}, options_.longest_pause));
        try {
            if (!store) store = std::make_unique<RecordingStore>(open(), recorder_, client.name());
        } catch (const StoreFault&) {
            continue;
        }
        const Request request = again ? *std::exchange(again, std::nullopt) : client.next();
        const Outcome outcome = ask_once(*store, request);
        if (is_granted(request, outcome)) ++grants_;
        again = client.hear(request, outcome);
    }
}

}  // namespace leasehold::lab
