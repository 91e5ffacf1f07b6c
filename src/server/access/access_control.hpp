#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <leasehold/store.hpp>

#include "server/access/rates.hpp"
#include "server/access/rules.hpp"
#include "server/access/scheme.hpp"
#include "server/http/message.hpp"
#include "server/http/problem.hpp"
#include "server/options.hpp"

namespace leasehold::server {

class ClientConnection;

// Thrown to refuse a batch because of some of its requests. The problem is the first request's; a
// protocol with batches adds which requests it is about.
struct BatchRefused : Refused {
    BatchRefused(Problem why, std::vector<std::size_t> which)
        : Refused{std::move(why)}, indices{std::move(which)} {}

    std::vector<std::size_t> indices;  // of the refused requests, in their order; at least one
};

// Decides which requests are allowed, by the client's token, its roles, the owner it acts for and
// its rate. Thread-safe. Functions named admit and pass throw Refused for a request that is not
// allowed. A server without tokens allows everything.
class AccessControl {
public:
    // `options` outlive this.
    explicit AccessControl(const ServerOptions& options);

    // Replaces the tokens.
    void use(std::shared_ptr<const Tokens> tokens);

    // Whether a token that was accepted earlier still is, and allows this.
    [[nodiscard]] bool admits(const Token& token, Need need);
    // The same for listening to events, of the same keys as when it began.
    [[nodiscard]] bool still_sees_the_same(const Token& token);
    [[nodiscard]] bool admits(const Token& token, const Request& wanted);

    // Identifies the client, notes its token in the request, and applies the rule.
    void admit(HttpRequest& request, const Rule& rule, const Scheme& scheme,
               const ClientConnection& connection);

    // The client's token on a route that needs none; nullptr if it shows no valid one. A token that
    // is not valid counts as everywhere else, and is not refused. After too many of them, an
    // address's JWTs are recognised only if they were verified before.
    [[nodiscard]] std::shared_ptr<const Token> recognise(const HttpRequest& request,
                                                         const Scheme& scheme,
                                                         const ClientConnection& connection);

    // Checks a request that was admitted before again, because the tokens may have changed; and the
    // request to the store that it made, if there is one.
    void admit_again(HttpRequest& request, Need need, const Scheme& scheme,
                     const Request* wanted = nullptr);

    // Checks a request to the store, and signs it. Once for each request.
    static void admit(const HttpRequest& request, Request& wanted);
    // Checks that the token may act in this owner's name.
    static void admit(const HttpRequest& request, std::string_view owner);
    // Checks that the token may do what is needed with this key.
    static void admit(const HttpRequest& request, Need need, const LockKey& key);
    // Checks that the token may see the numbers of all keys.
    static void admit_to_totals(const HttpRequest& request);
    // Checks the owners that all requests of a batch name. Throws BatchRefused.
    static void admit_all(const HttpRequest& request, std::span<const Request> wanted);

    // Which requests of a batch the token's rate allows now, one answer for each. Throws if it
    // allows none of them.
    // 1. Requests that keep or end a lease are allowed together, as soon as the rate allows one of
    //    them. They are counted afterwards: a holder never loses a part of its leases to its rate.
    // 2. Of all other requests as many are allowed as the rate allows now, in their order. A try
    //    for several keys counts as that many requests.
    [[nodiscard]] std::vector<bool> pass(const HttpRequest& request,
                                         std::span<const Request> wanted);

private:
    [[nodiscard]] std::shared_ptr<const Tokens> tokens();
    // The token as it is now; nothing if it was removed.
    [[nodiscard]] std::shared_ptr<const Token> now(const Token& token);
    // The token that the client shows; nullptr if it shows no valid one.
    [[nodiscard]] std::shared_ptr<const Token> find(const HttpRequest& request,
                                                    const Scheme& scheme,
                                                    const ClientConnection& connection,
                                                    Tokens::Jwts jwts = Tokens::Jwts::verified);
    // Counts a request without a valid token. How long the client must wait if there were too many.
    [[nodiscard]] std::optional<Buckets::Wait> count_unknown(const ClientConnection& connection);
    // How long the token must wait; nothing if its rate allows this now.
    [[nodiscard]] std::optional<Buckets::Wait> take(const Token& token, Pace pace,
                                                    std::size_t amount);

    const ServerOptions& options_;
    std::mutex mutex_;
    std::shared_ptr<const Tokens> tokens_;  // guarded by mutex_
    Buckets by_token_;
    Buckets by_address_;
};

}  // namespace leasehold::server
