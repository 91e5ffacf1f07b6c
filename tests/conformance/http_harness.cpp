#include <leasehold/stores/http.hpp>

#include <utility>

#include "conformance/harness.hpp"
#include "server/server_fixture.hpp"

namespace leasehold::conformance {
namespace {

// In these tests the client checks the limits; its server allows everything.
Limits no_limits() {
    Limits limits;
    limits.min_ttl = Duration{1};
    limits.max_ttl = std::chrono::years{1};
    limits.allow_endless = true;
    limits.page_rows = 1'000'000;
    limits.keys_at_once = 10'000;
    return limits;
}

// A handle with a server of its own.
class ServedStore final : public Store {
public:
    explicit ServedStore(std::unique_ptr<Store> store)
        : server_{std::move(store), {}, no_limits()},
          client_{http::open({.port = server_.port()})} {}

    void apply(std::span<const Request> requests, std::span<Outcome> outcomes) override {
        client_->apply(requests, outcomes);
    }
    [[nodiscard]] std::size_t concurrency() const noexcept override {
        return client_->concurrency();
    }
    [[nodiscard]] StoreStatus status() override { return client_->status(); }
    [[nodiscard]] StoreLine* line() noexcept override { return client_->line(); }

private:
    leasehold::testing::RunningServer server_;
    std::unique_ptr<Store> client_;
};

// Every handle has a server of its own on the same SQLite file.
class HttpHarness final : public StoreHarness {
public:
    std::unique_ptr<Store> open(StoreOptions options) override {
        return std::make_unique<ServedStore>(behind_->open(options));
    }
    void let_pass(Duration duration) override { behind_->let_pass(duration); }
    std::string dump() override { return behind_->dump(); }
    [[nodiscard]] std::size_t crowd() const override { return behind_->crowd(); }

private:
    std::unique_ptr<SqlHarness> behind_ = make_sqlite_harness();
};

}  // namespace

std::unique_ptr<StoreHarness> make_http_harness() {
    return std::make_unique<HttpHarness>();
}

}  // namespace leasehold::conformance
