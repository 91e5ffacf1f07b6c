#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>

#include <leasehold/lock_manager.hpp>
#include <leasehold/request.hpp>

// The calls of a LockManager for programs on Boost.Asio. They block no thread:
//
//   const leasehold::LockOptions options{.owner = "alice"};
//   auto lease = co_await leasehold::async_try_lock(locks, {"Order", "1"}, options,
//                                                   boost::asio::use_awaitable);
//   if (!lease) co_return show(lease.error());
//
// (Give the options a name, as here: GCC 12 destroys an aggregate that is made inside a co_await
// expression twice.)
//
// Each takes what the function of LockManager takes, and a completion token. The handler's
// signature is void(std::exception_ptr, T), where T is what LockManager's function returns, and the
// exception is what it would throw: StoreFault or BadRequest. The handler runs on its associated
// executor, never inside the call. `locks` outlives the operation.
//
// If the execution context ends before an operation is answered, the handler is destroyed with the
// context, as with every operation of Asio. A wait ends then; a request that was sent already has
// its effect, and a lease that it got lasts until its ttl ends.
//
// Cancellation ends the wait of async_lock_for and async_lock_all_for as a stop token does: the
// answer is the latest refusal or a StoreFault, and nothing stays locked unless you drew the lock
// id. Every other call is one request, which is always answered.
namespace leasehold {
namespace asio_support {

namespace asio = boost::asio;

// An operation that is not answered yet.
class Operation {
public:
    Operation() = default;
    Operation(const Operation&) = delete;
    Operation& operator=(const Operation&) = delete;
    virtual ~Operation() = default;

    std::stop_source stop{};  // stopped when nobody wants the answer any more
};

// The operations of one execution context that are not answered yet. The context's service and
// every pending reply share this object, because an answer can come after the context has ended.
// Thread-safe.
class Operations {
public:
    // Destroys the operation at once if the context has ended.
    void add(std::unique_ptr<Operation> operation) {
        const std::lock_guard lock{mutex_};
        if (!ended_) under_way_.emplace(operation.get(), std::move(operation));
    }

    // Calls `finish` with the operation, unless it was destroyed with its context. The context does
    // not end meanwhile.
    template <class Finish>
    void answer(const Operation* which, Finish finish) {
        const std::lock_guard lock{mutex_};
        auto node = under_way_.extract(which);
        if (!node.empty()) finish(std::move(node.mapped()));
    }

    void end() {
        decltype(under_way_) left;
        {
            const std::lock_guard lock{mutex_};
            ended_ = true;
            left.swap(under_way_);
        }
        for (auto& [which, operation] : left) operation->stop.request_stop();
    }

private:
    std::mutex mutex_;
    bool ended_ = false;
    std::unordered_map<const Operation*, std::unique_ptr<Operation>> under_way_;
};

// Ends the operations of an execution context with it.
class OperationsService : public asio::execution_context::service {
public:
    using key_type = OperationsService;
    static inline asio::execution_context::id id;

    explicit OperationsService(asio::execution_context& context) : service{context} {}

    [[nodiscard]] const std::shared_ptr<Operations>& operations() const { return operations_; }

private:
    void shutdown() override { operations_->end(); }

    const std::shared_ptr<Operations> operations_ = std::make_shared<Operations>();
};

template <class Executor>
std::shared_ptr<Operations> operations_of(const Executor& executor) {
    if constexpr (asio::can_query_v<const Executor&, asio::execution::context_t>) {
        asio::execution_context& context = asio::query(executor, asio::execution::context);
        return asio::use_service<OperationsService>(context).operations();
    } else {
        return std::make_shared<Operations>();
    }
}

// The handler of an operation. Its executor has work until it is called.
template <class T, class Handler>
class Completion : public Operation {
public:
    using Executor = asio::associated_executor_t<Handler>;

    explicit Completion(Handler&& handler)
        : handler_{std::move(handler)}, work_{asio::get_associated_executor(handler_)} {}

    [[nodiscard]] Executor executor() const { return work_.get_executor(); }

    // Stopped when the operation is cancelled.
    [[nodiscard]] std::stop_token on_cancel() {
        if (auto slot = asio::get_associated_cancellation_slot(handler_); slot.is_connected()) {
            slot.assign([source = stop](asio::cancellation_type type) mutable {
                if (type != asio::cancellation_type::none) source.request_stop();
            });
        }
        return stop.get_token();
    }

    static void answer(std::unique_ptr<Operation> operation, Outcome outcome) {
        finish(std::move(operation), [outcome = std::move(outcome)](Handler& handler) mutable {
            std::optional<T> result;
            try {
                result = result_of<T>(std::move(outcome));
            } catch (const StoreFault&) {
                return handler(std::current_exception(), nothing());
            }
            handler(std::exception_ptr{}, *std::move(result));
        });
    }

    static void fail(std::unique_ptr<Operation> operation, std::exception_ptr why) {
        finish(std::move(operation), [why = std::move(why)](Handler& handler) mutable {
            handler(std::move(why), nothing());
        });
    }

private:
    // What a handler gets beside an exception.
    static T nothing() {
        if constexpr (requires { typename T::unexpected_type; }) {
            return std::unexpected{Refusal{}};
        } else {
            return {};
        }
    }

    template <class Call>
    static void finish(std::unique_ptr<Operation> operation, Call call) {
        std::unique_ptr<Completion> self{static_cast<Completion*>(operation.release())};
        const Executor executor = self->executor();
        asio::post(executor, [self = std::move(self), call = std::move(call)]() mutable {
            if (auto slot = asio::get_associated_cancellation_slot(self->handler_);
                slot.is_connected()) {
                slot.clear();
            }
            Handler handler = std::move(self->handler_);
            self.reset();
            call(handler);
        });
    }

    Handler handler_;
    asio::executor_work_guard<Executor> work_;
};

// Starts an operation whose answer is a T: `send(reply, stop)` sends its request.
template <class T, class Send, class Token>
auto start(Send send, Token&& token) {
    return asio::async_initiate<Token, void(std::exception_ptr, T)>(
        [](auto handler, Send sending) {
            using Done = Completion<T, decltype(handler)>;
            auto operation = std::make_unique<Done>(std::move(handler));
            Done* const which = operation.get();
            const auto operations = operations_of(which->executor());
            operations->add(std::move(operation));
            const auto reply = [operations, which](Outcome outcome) {
                operations->answer(which, [&](std::unique_ptr<Operation> answered) {
                    Done::answer(std::move(answered), std::move(outcome));
                });
            };
            try {
                sending(reply, [which] { return which->on_cancel(); });
            } catch (...) {
                operations->answer(which, [](std::unique_ptr<Operation> failed) {
                    Done::fail(std::move(failed), std::current_exception());
                });
            }
        },
        token, std::move(send));
}

// One request.
template <class T, class Token>
auto ask(LockManager& locks, Request request, Token&& token) {
    return start<T>(
        [&locks, request = std::move(request)](std::function<void(Outcome)> reply,
                                               auto&& /*stop*/) mutable {
            locks.submit(std::move(request), std::move(reply));
        },
        std::forward<Token>(token));
}

// A try that waits.
template <class T, class Token>
auto wait(LockManager& locks, Request request, Duration patience, Token&& token) {
    return start<T>(
        [&locks, request = std::move(request), patience](std::function<void(Outcome)> reply,
                                                         auto&& stop) mutable {
            locks.submit_for(std::move(request), patience, std::move(reply), stop());
        },
        std::forward<Token>(token));
}

}  // namespace asio_support

template <class Token>
auto async_try_lock(LockManager& locks, LockKey key, LockOptions options, Token&& token) {
    return asio_support::ask<Result<Lease>>(
        locks, try_request(std::move(key), std::move(options), locks.limits()),
        std::forward<Token>(token));
}

template <class Token>
auto async_try_lock_all(LockManager& locks, std::vector<LockKey> keys, LockOptions options,
                        Token&& token) {
    return asio_support::ask<Result<std::vector<Lease>>>(
        locks, try_all_request(std::move(keys), std::move(options), locks.limits()),
        std::forward<Token>(token));
}

template <class Token>
auto async_lock_for(LockManager& locks, LockKey key, Duration patience, LockOptions options,
                    Token&& token) {
    return asio_support::wait<Result<Lease>>(
        locks, try_request(std::move(key), std::move(options), locks.limits()), patience,
        std::forward<Token>(token));
}

template <class Token>
auto async_lock_all_for(LockManager& locks, std::vector<LockKey> keys, Duration patience,
                        LockOptions options, Token&& token) {
    return asio_support::wait<Result<std::vector<Lease>>>(
        locks, try_all_request(std::move(keys), std::move(options), locks.limits()), patience,
        std::forward<Token>(token));
}

template <class Token>
auto async_check(LockManager& locks, LockKey key, LockId lock_id, Token&& token) {
    return asio_support::ask<Result<Lease>>(locks, Check{std::move(key), lock_id},
                                            std::forward<Token>(token));
}

template <class Token>
auto async_extend(LockManager& locks, LockKey key, LockId lock_id, Duration by, Token&& token) {
    return asio_support::ask<Result<Lease>>(
        locks, Extend{.key = std::move(key), .lock_id = lock_id, .by = by},
        std::forward<Token>(token));
}

template <class Token>
auto async_renew(LockManager& locks, LockKey key, LockId lock_id, Duration ttl, Token&& token) {
    return asio_support::ask<Result<Lease>>(
        locks, Renew{.key = std::move(key), .lock_id = lock_id, .ttl = ttl},
        std::forward<Token>(token));
}

template <class Token>
auto async_release(LockManager& locks, LockKey key, LockId lock_id, Token&& token) {
    return asio_support::ask<Result<Lease>>(locks, Release{std::move(key), lock_id},
                                            std::forward<Token>(token));
}

// Ends up to Limits::released_at_once leases. For an owner with more, and for one that
// LockManager::release_all would end key by key because of its ended leases, the answer is a
// StoreFault of cause too_large, and nothing has ended: LockManager::release_all ends them in
// parts.
template <class Token>
auto async_release_all(LockManager& locks, std::string owner, OwnerScope scope, Token&& token) {
    return asio_support::ask<Result<std::vector<Lease>>>(
        locks, ReleaseAll{.owner = std::move(owner), .scope = scope}, std::forward<Token>(token));
}

template <class Token>
auto async_break_lock(LockManager& locks, LockKey key, Fence fence, std::string by,
                      std::string reason, Token&& token) {
    return asio_support::ask<Result<Lease>>(locks,
                                            Break{.key = std::move(key),
                                                  .fence = fence,
                                                  .by = std::move(by),
                                                  .reason = std::move(reason)},
                                            std::forward<Token>(token));
}

template <class Token>
auto async_holders(LockManager& locks, LockKey key, Token&& token) {
    return asio_support::ask<HolderPage>(locks, Holders{std::move(key)},
                                         std::forward<Token>(token));
}

template <class Token>
auto async_list(LockManager& locks, List query, Token&& token) {
    return asio_support::ask<HolderPage>(locks, std::move(query), std::forward<Token>(token));
}

template <class Token>
auto async_history(LockManager& locks, History query, Token&& token) {
    return asio_support::ask<HistoryPage>(locks, std::move(query), std::forward<Token>(token));
}

}  // namespace leasehold
