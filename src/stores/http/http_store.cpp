#include <leasehold/stores/http.hpp>

#include <boost/json/array.hpp>

#include <algorithm>
#include <mutex>
#include <utility>

#include "core/cached_status.hpp"
#include "core/cell_store.hpp"
#include "core/enum_names.hpp"
#include "core/request_traits.hpp"
#include "stores/http/answers.hpp"
#include "stores/http/line.hpp"
#include "stores/http/server_connection.hpp"
#include "wire/messages.hpp"

namespace leasehold::http {
namespace {

namespace json = boost::json;

// How much one message carries: well below a server's limits.
constexpr std::size_t requests_per_message = 200;
constexpr std::size_t long_message_bytes = 500'000;

Durability durability_from(const std::string& name) {
    return durability_names.find(name).value_or(Durability::none);
}

StoreStatus read_status(ServerConnection& connection, const std::stop_token& ended) {
    const Response response = connection.wait_for({.path = "/readyz"}, {}, ended);
    const json::value answer = understood(connection.server(), response, StoreFault::Effect::none);
    try {
        wire::Fields ready{answer, "the server's state"};
        if (!ready.has("store")) {
            return {.name = "http",
                    .warnings = {"the server does not accept the token, so it does not tell which "
                                 "store it has"}};
        }
        wire::Fields store{ready.required("store"), "the server's store"};
        StoreStatus status{.name = "http, " + store.text("name"),
                           .durability = durability_from(store.text("durability"))};
        const json::value& warnings = store.required("warnings");
        for (std::size_t i = 0; warnings.is_array() && i < warnings.get_array().size(); ++i) {
            const json::value& warning = warnings.get_array()[i];
            if (warning.is_string()) status.warnings.emplace_back(warning.get_string());
        }
        return status;
    } catch (const BadRequest& bad) {
        throw not_understood(connection.server(), StoreFault::Effect::none, bad.what());
    }
}

class HttpStore final : public Store {
public:
    HttpStore(const ServerAddress& target, const StoreOptions& options)
        : connection_{target, options.io_timeout},
          line_{target, options.io_timeout},
          status_{[target, timeout = options.io_timeout](const std::stop_token& ended) {
              ServerConnection connection{target, timeout};
              return read_status(connection, ended);
          }} {}

    void apply(std::span<const Request> requests, std::span<Outcome> outcomes) override {
        status_.refresh_if_old();
        for (Outcome& outcome : outcomes) outcome = {};
        const std::lock_guard lock{mutex_};
        for (std::size_t done = 0; done < requests.size();) {
            done += send_some(requests.subspan(done), outcomes.subspan(done));
        }
    }

    [[nodiscard]] std::size_t concurrency() const noexcept override { return 1; }

    [[nodiscard]] StoreStatus status() override { return status_.status(); }

    [[nodiscard]] StoreLine* line() noexcept override { return &line_; }

private:
    // Sends as many requests as fit into one message, at least one. Returns how many.
    std::size_t send_some(std::span<const Request> requests, std::span<Outcome> outcomes) {
        std::string body = R"({"requests":[)";
        std::size_t count = 0;
        bool changes = false;
        while (count < std::min(requests.size(), requests_per_message) &&
               body.size() < long_message_bytes) {
            if (count > 0) body += ',';
            wire::print(body, wire::to_json(requests[count]));
            changes = changes || !only_reads(kind_of(requests[count]));  // lab: only-reads
            ++count;
        }
        body += "]}";
        // lab: lost-answer
        const auto effect = changes ? StoreFault::Effect::unknown : StoreFault::Effect::none;
        // lab: post
        const Response response = connection_.post("/v1/batch", std::move(body), effect);
        const bool refused = response.status == 400 || response.status == 403;
        if (refused && count > 1) {
            send_one_by_one(requests.first(count), outcomes.first(count));
        } else {
            take_answers(understood(connection_.server(), response, effect), requests,
                         outcomes.first(count), effect);
        }
        return count;
    }

    // The server refused the message because of one request, and did nothing. That request must
    // not stop the others, which may be renewals.
    void send_one_by_one(std::span<const Request> requests, std::span<Outcome> outcomes) {
        for (std::size_t i = 0; i < requests.size(); ++i) {
            try {
                send_some(requests.subspan(i, 1), outcomes.subspan(i, 1));
            } catch (const StoreFault& fault) {
                const bool its_own = fault.cause() == StoreFault::Cause::not_allowed ||
                                     fault.cause() == StoreFault::Cause::configuration;
                if (!its_own) throw;
                outcomes[i] = fault;
            }
        }
    }

    void take_answers(const json::value& message, std::span<const Request> requests,
                      std::span<Outcome> outcomes, StoreFault::Effect effect) const {
        try {
            wire::Fields fields{message, "the server's answer"};
            const json::value& answers = fields.required("answers");
            if (!answers.is_array() || answers.get_array().size() != outcomes.size()) {
                throw BadRequest{"not as many answers as requests"};
            }
            for (std::size_t i = 0; i < outcomes.size(); ++i) {
                Outcome outcome = wire::outcome_from(answers.get_array()[i]);
                require_fit(requests[i], outcome);
                outcomes[i] = std::move(outcome);  // lab: answer
            }
        } catch (const BadRequest& bad) {
            throw not_understood(connection_.server(), effect, bad.what());
        }
    }

    std::mutex mutex_;
    ServerConnection connection_;  // guarded by mutex_
    Line line_;
    CachedStatus status_;
};

}  // namespace

std::unique_ptr<Store> open(const ServerAddress& target, StoreOptions options) {
    auto store = std::make_unique<HttpStore>(target, options);
    require_durability(options, store->status());
    return store;
}

}  // namespace leasehold::http
