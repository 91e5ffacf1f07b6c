#include "server/transport/worker.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>

#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "core/out_of_memory.hpp"
#include "server/http/site.hpp"
#include "server/monitoring/observer.hpp"

namespace leasehold::server {
namespace {

// How late a deadline may be noticed. One timer for all sessions costs less than one per session.
constexpr std::chrono::milliseconds between_ticks{50};
// A client between two requests is not disturbed.
constexpr std::chrono::seconds kept_when_idle{5};

}  // namespace

Worker::Worker(const ServerOptions& options, Connections& connections)
    : options_{options},
      connections_{connections},
      open_{asio::make_work_guard(context_)},
      fields_with_tls_{strict_transport(options)} {}

Worker::~Worker() = default;

void Worker::run() {
    for (;;) {
        try {
            context_.run();
            return;
        } catch (const std::exception& error) {
            options_.observer->failed(error.what());
        }
        // The exception may have been that of the timer.
        if (ticking_ && !tick_is_due_) do_for_certain([this] { tick(); });
    }
}

void Worker::stop() {
    asio::post(context_, [this] {
        cut_at_ = Clock::now() + options_.drain_deadline;
        for (auto at = sessions_.begin(); at != sessions_.end();) (at++)->stop();
        open_.reset();
    });
}

void Worker::stop_certified() {
    asio::post(context_, [this] {
        for (auto at = sessions_.begin(); at != sessions_.end();) (at++)->stop_if_certified();
    });
}

void Worker::serve(Socket socket, Dispatcher& dispatcher,
                   std::shared_ptr<const TlsIdentity> identity, Peer peer) {
    Connections::Counted counted{connections_};
    options_.observer->happened(ConnectionEvent::accepted);
    auto tell = [](Worker* worker) { worker->options_.observer->happened(ConnectionEvent::ended); };
    std::shared_ptr<void> ended{this, tell};
    asio::post(context_, [this, &dispatcher, socket = std::move(socket),
                          identity = std::move(identity), counted = std::move(counted),
                          peer = std::move(peer), ended = std::move(ended)]() mutable {
        auto session =
            std::make_unique<Session>(std::move(socket), *this, dispatcher, identity.get(),
                                      std::move(counted), std::move(peer));
        sessions_.push_back(*session);
        strangers_.push_back(*session);
        if (!open_) session->stop();
        if (!std::exchange(ticking_, true)) tick();
        asio::co_spawn(context_, hold(std::move(session), std::move(ended)), rethrow);
    });
}

void Worker::heard_of(Session& stranger) {
    stranger.in_line.unlink();
    strangers_.push_back(stranger);
}

void Worker::is_idle(Session& known) {
    known.in_line.unlink();
    idle_.push_back(known);
}

bool Worker::evict(Expendable client) {
    Line& line = client == Expendable::stranger ? strangers_ : idle_;
    if (line.empty()) return false;
    Session& first = line.front();
    if (client == Expendable::idle && Clock::now() < first.idle_since() + kept_when_idle) {
        return false;
    }
    first.evict();
    return true;
}

Task<void> Worker::hold(std::unique_ptr<Session> session, std::shared_ptr<void> ended) {
    try {
        co_await session->run();
    } catch (const std::exception& error) {
        options_.observer->failed(error.what());
    }
    session.reset();
    ended.reset();
    if (sessions_.empty()) ticks_.cancel();
}

void Worker::tick() {
    ticks_.expires_after(between_ticks);
    ticks_.async_wait([this](boost::system::error_code) {
        tick_is_due_ = false;
        ticking_ = !sessions_.empty();
        if (!ticking_) return;
        const auto now = Clock::now();
        for (auto at = sessions_.begin(); at != sessions_.end();) {
            Session& session = *at++;
            now >= cut_at_ ? session.cut() : session.check_deadline(now);
        }
        tick();
    });
    tick_is_due_ = true;
}

void Worker::send_soon(Session& session, Resume resume) {
    // An exception here would destroy the coroutine that waits.
    do_for_certain([&] {
        if (answered_.size() == answered_.capacity()) answered_.reserve(2 * answered_.size() + 8);
        if (answered_.empty()) asio::post(context_, [this] { send_all(); });
    });
    answered_.emplace_back(&session, std::move(resume));
}

void Worker::send_all() {
    auto answered = std::exchange(answered_, {});
    for (auto& [session, resume] : answered) session->send_at_once();
    for (auto& [session, resume] : answered) std::move(resume)();
}

std::string_view Worker::date() {
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    if (now != date_of_) {
        date_of_ = now;
        date_ = http_date(now);
    }
    return date_;
}

void run_all(std::span<const std::unique_ptr<Worker>> workers, const StartThread& start,
             const std::function<void()>& begin, const std::function<void()>& stop) {
    std::optional<std::system_error> failure;
    std::vector<std::jthread> threads;
    auto& first = workers.front()->context();
    auto needed = std::make_shared<asio::executor_work_guard<Executor>>(first.get_executor());
    try {
        for (const auto& worker : workers.subspan(1)) {
            threads.push_back(start([&worker, needed] { worker->run(); }));
        }
        begin();
    } catch (const std::system_error& error) {
        failure.emplace(error.code(), "the server cannot start thread " +
                                          std::to_string(threads.size() + 2) + " of " +
                                          std::to_string(workers.size()));
        stop();
    }
    needed.reset();
    workers.front()->run();
    threads.clear();
    if (failure) throw std::system_error{*failure};
}

}  // namespace leasehold::server
