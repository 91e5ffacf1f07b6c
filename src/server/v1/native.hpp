#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "server/http/documentation.hpp"
#include "server/protocol/backend.hpp"
#include "server/protocol/protocol.hpp"
#include "server/v1/description.hpp"

namespace leasehold::server::v1 {

// Bearer, as RFC 6750 has it.
extern const Scheme bearer;

// The native protocol: JSON under /v1, and the server's own pages beside it (probes, metrics, the
// description, the console, the documentation). Its table is in routes.cpp.
class Native final : public Protocol {
public:
    // Outlives this.
    explicit Native(Backend& backend);

    [[nodiscard]] std::string_view prefix() const noexcept override { return "/"; }
    [[nodiscard]] std::span<const Route> routes() const noexcept override { return table(); }
    [[nodiscard]] static std::span<const Route> table() noexcept;
    [[nodiscard]] const Scheme& scheme() const noexcept override { return bearer; }
    [[nodiscard]] std::string_view cors_fields() const noexcept override {
        return "Authorization, Content-Type, Last-Event-ID, Lock-Token";
    }
    void check_body_type(const HttpRequest& request) const override;
    [[nodiscard]] Reply error(const Problem& problem, Language preferred) const override;
    [[nodiscard]] Reply error(const StoreFault& fault) const override;
    [[nodiscard]] Reply without_memory(StoreFault::Effect effect) const noexcept override;

private:
    // The handlers of the routes.
    struct Table;

    // server_routes.cpp
    [[nodiscard]] Task<Reply> healthy(RoutedRequest& request);
    [[nodiscard]] Task<Reply> ready(RoutedRequest& request);
    [[nodiscard]] Task<Reply> metrics(RoutedRequest& request);
    [[nodiscard]] Task<Reply> describe(RoutedRequest& request);
    [[nodiscard]] Task<Reply> console(RoutedRequest& request);
    [[nodiscard]] Task<Reply> console_file(RoutedRequest& request);
    [[nodiscard]] Task<Reply> client_file(RoutedRequest& request);
    [[nodiscard]] Task<Reply> documentation(RoutedRequest& request);
    // The roles and the owner of the client's token.
    [[nodiscard]] Task<Reply> token(RoutedRequest& request);

    // What is open in this installation, for an administrator.
    [[nodiscard]] Task<Reply> server(RoutedRequest& request);

    // batch_route.cpp
    [[nodiscard]] Task<Reply> batch(RoutedRequest& request);
    // With the knocks on the lease, if there are any, see put_knocks().
    void print_for_holder(std::string& out, const Outcome& outcome, Language language,
                          std::size_t& room) const;
    // Reserves room for the rows in the answer to a batch, and returns how much there is. Throws
    // Refused if no room is left, unless a request of the batch keeps or ends a lease.
    [[nodiscard]] std::size_t room_for_rows(RoutedRequest& request,
                                            std::span<const Request> wanted);

    // lock_routes.cpp
    [[nodiscard]] Task<Reply> try_lock(RoutedRequest& request);
    // The lease that its holder asked for, with the knocks on it.
    [[nodiscard]] Reply reply_to_holder(const RoutedRequest& request, const Outcome& outcome) const;
    [[nodiscard]] Task<Reply> check(RoutedRequest& request);
    [[nodiscard]] Task<Reply> show_holders(RoutedRequest& request);
    [[nodiscard]] Task<Reply> prolong(RoutedRequest& request);
    [[nodiscard]] Task<Reply> release(RoutedRequest& request);
    [[nodiscard]] Task<Reply> break_lock(RoutedRequest& request);
    [[nodiscard]] Task<Reply> list(RoutedRequest& request);
    // As a JSON array, each with the number of clients that wait for its key.
    [[nodiscard]] Task<void> print_with_waiters(RoutedRequest& request, std::string& out,
                                                const std::vector<Holder>& holders);
    [[nodiscard]] Task<Reply> release_all(RoutedRequest& request);
    // The leases that a release_all has ended, as the object that answers it. Names the leases that
    // fit into the room, takes their size from it, and counts them all if it names fewer.
    [[nodiscard]] static Task<void> print_ended(std::string& out, const std::vector<Lease>& leases,
                                                std::size_t& room);
    // A long answer is printed in pieces of this size. Other clients are answered in between.
    static constexpr std::size_t bytes_between_yields = 64 * 1024;
    [[nodiscard]] Task<Reply> history(RoutedRequest& request);

    // statistics_routes.cpp
    [[nodiscard]] Task<Reply> statistics(RoutedRequest& request);
    [[nodiscard]] Task<Reply> refused(RoutedRequest& request);

    // event_routes.cpp
    [[nodiscard]] Task<Reply> events(RoutedRequest& request);
    [[nodiscard]] Task<Reply> knock(RoutedRequest& request);
    // Adds the knocks on a lease that its holder asked for. Names the latest ones that fit into the
    // room, takes their size from it, and counts them all.
    static void put_knocks(boost::json::object& lease_json, std::span<const Knock> knocks,
                           std::size_t& room);
    // The most bytes of knocks in one answer.
    static constexpr std::size_t knocks_bytes = 64 * 1024;

    Backend& backend_;
    const Limits& limits_ = backend_.limits();
    const ServerOptions& options_ = backend_.options();
    const Documentation documentation_{options_.documentation};
    const std::string description_ = description_with(limits_, options_);
};

}  // namespace leasehold::server::v1
