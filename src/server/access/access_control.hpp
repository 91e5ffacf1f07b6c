#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include <leasehold/store.hpp>

#include "server/access/rates.hpp"
#include "server/access/rules.hpp"
#include "server/http/message.hpp"
#include "server/options.hpp"

namespace leasehold::server {

class Connection;

// Whether a client has shown a token at all.
enum class Shown : std::uint8_t { no, yes };

// Lets requests in, or refuses them: the token, what it may do, and how often. Thread-safe.
// Everything throws Refused where the answer is no. Without tokens everybody may do everything.
class AccessControl {
public:
    // Outlive this.
    explicit AccessControl(const ServerOptions& options);

    // From now on these are the tokens.
    void use(std::shared_ptr<const Tokens> tokens);

    // Whether a token that was shown once is still enough for this.
    [[nodiscard]] bool admits(const Token& token, Need need);
    [[nodiscard]] bool admits(const Token& token, const Request& wanted);

    // Whose request it is, which is noted in it, and whether that is enough for this.
    void admit(HttpRequest& request, const Rule& rule, const Connection& connection);

    // The same of one that was admitted before: the tokens may have changed since.
    void admit_again(HttpRequest& request, Need need);

    // A request to the store that was made of one: the owner it speaks for, who signs it.
    static void admit(const HttpRequest& request, Request& wanted);
    // In this owner's name.
    static void admit(const HttpRequest& request, std::string_view owner);
    // The same for all of a batch. The refusal names those that are refused.
    static void admit_all(const HttpRequest& request, std::span<Request> wanted);

    // Which of a batch's requests may go on now. Throws where that would be none.
    struct Open {
        bool asks = true;
        bool keeps = true;

        [[nodiscard]] bool is_for(const Request& request) const {
            return rule_of(request).pace == Pace::asks ? asks : keeps;
        }
    };
    [[nodiscard]] Open pass(const HttpRequest& request, std::span<const Request> wanted);

private:
    [[nodiscard]] std::shared_ptr<const Tokens> tokens();
    // As it is now; nothing where it was taken away.
    [[nodiscard]] std::shared_ptr<const Token> now(const Token& token);
    [[nodiscard]] std::shared_ptr<const Token> identify(const HttpRequest& request,
                                                        const Connection& connection);
    [[noreturn]] void refuse_unknown(std::string_view detail, Shown shown,
                                     const Connection& connection);
    // How long to wait, where it is too much.
    [[nodiscard]] std::optional<std::chrono::duration<double>> take(const Token& token, Pace pace,
                                                                    std::size_t amount);

    const ServerOptions& options_;
    std::mutex mutex_;
    std::shared_ptr<const Tokens> tokens_;  // guarded by mutex_
    Buckets by_token_;
    Buckets by_address_;
};

}  // namespace leasehold::server
