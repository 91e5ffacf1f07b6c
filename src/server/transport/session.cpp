#include "server/transport/session.hpp"

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <new>
#include <utility>

#include "server/access/tokens.hpp"
#include "server/http/phrases.hpp"
#include "server/transport/worker.hpp"

namespace leasehold::server {
namespace {

using boost::system::error_code;
using State = RequestReader::State;

constexpr std::chrono::milliseconds unbounded{-1};
constexpr std::chrono::seconds linger_deadline{2};

// Assigning an empty text would keep the memory.
void free_text(std::string& text) {
    std::string{}.swap(text);
}

std::array<asio::const_buffer, 2> buffers_of(const std::array<std::string_view, 2>& parts) {
    return {asio::buffer(parts[0]), asio::buffer(parts[1])};
}

// The event of a deadline that passed while reading.
ConnectionEvent missed_in(State state) {
    if (state == State::idle) return ConnectionEvent::idle;
    return state == State::header ? ConnectionEvent::slow_header : ConnectionEvent::slow_body;
}

Problem too_slow() {
    return {
        .status = 408, .code = "request_timeout", .detail = "the request did not arrive in time"};
}

Problem too_many_bodies() {
    return overloaded(phrases::large_bodies);
}

Problem too_many_bodies_of(const Token& token) {
    return too_often({phrases::large_bodies_of_token, {{"token", token.name}}},
                     std::chrono::seconds{1});
}

}  // namespace

// Outlives the session, because the handler of a cancelled wait runs after the session has ended.
struct Session::Watch {
    std::function<void()> gone;
    bool over = false;
};

Session::Session(Socket socket, Worker& worker, Dispatcher& dispatcher, const TlsIdentity* identity,
                 Connections::Counted counted, Peer peer)
    : counted_{std::move(counted)},
      peer_{std::move(peer)},
      socket_{std::move(socket)},
      worker_{worker},
      dispatcher_{dispatcher},
      reader_{worker.options()} {
    if (identity != nullptr) {
        tls_ = std::make_unique<Tls>(*identity, socket_.native_handle(),
                                     std::move(peer_.may_shake_hands));
    }
    error_code ignored;
    socket_.non_blocking(true, ignored);
    socket_.set_option(asio::ip::tcp::no_delay{true}, ignored);
}

Session::~Session() {
    if (watch_) watch_->over = true;
}

void Session::enter(Phase phase, std::chrono::milliseconds limit) {
    phase_ = phase;
    expired_ = makes_room_ = false;
    deadline_ = limit == unbounded ? Clock::time_point::max() : Clock::now() + limit;
}

void Session::check_deadline(Clock::time_point now) {
    if (now >= deadline_) expire();
}

void Session::expire() {
    // A read that has just succeeded cannot be cancelled, nor can one part of a longer write: the
    // worker's next tick cancels what has begun since.
    deadline_ = Clock::time_point::min();
    expired_ = true;
    error_code ignored;
    socket_.cancel(ignored);
}

void Session::stop() {
    last_ = true;
    if (phase_ != Phase::idle && phase_ != Phase::handshake) return;
    error_code ignored;
    socket_.cancel(ignored);
}

void Session::cut() {
    error_code ignored;
    socket_.close(ignored);
    if (tls_) tls_->forget_socket();
}

void Session::evict() {
    happened(ConnectionEvent::evicted);
    in_line.unlink();
    counted_.end();
    token_place_.reset();
    cut();
}

void Session::identified(std::shared_ptr<void> place) {
    known_ = true;
    token_place_ = std::move(place);
    in_line.unlink();
    counted_.become_known();
    // Without tokens there is nothing that would exempt a client from the limit of its address.
    if (worker_.options().tokens) peer_.place.reset();
}

void Session::stop_if_certified() {
    if (!certificate_) return;
    must_reconnect_ = true;
    if (streaming_) return cut();
    stop();
    if (watch_) end(*watch_);
}

void Session::end(Watch& watch) {
    if (!std::exchange(watch.over, true)) watch.gone();
}

void Session::watch(std::function<void()> gone) {
    watch_ = std::make_shared<Watch>(std::move(gone));
    if (must_reconnect_) {
        // The caller is not waiting yet.
        asio::post(worker_.context(), [watch = watch_] { end(*watch); });
        return;
    }
    wait_for_bytes(watch_);
}

void Session::wait_for_bytes(const std::shared_ptr<Watch>& watch) {
    socket_.async_wait(Socket::wait_read, [this, watch](error_code) {
        if (watch->over) return;
        if (!still_there()) {
            end(*watch);
        } else {
            wait_for_bytes(watch);
        }
    });
}

bool Session::unwatch() {
    if (std::exchange(watch_->over, true)) return false;
    error_code ignored;
    socket_.cancel(ignored);
    return still_there();
}

bool Session::still_there() {
    const auto space = reader_.space();
    if (space.empty()) return false;  // the unread bytes fill the buffer, which hides a close
    if (tls_) {
        const auto [bytes, want] = tls_->read(space);
        reader_.keep_for_later(bytes);
        return want != Tls::Want::closed;
    }
    error_code error;
    const std::size_t bytes = socket_.read_some(asio::buffer(space.data(), space.size()), error);
    reader_.keep_for_later(bytes);
    return !error || error == asio::error::would_block;
}

void Session::happened(ConnectionEvent event) {
    worker_.options().observer->happened(event);
}

void Session::tell_observer(const Reply& reply) {
    const auto& token = reader_.request().token;
    worker_.options().observer->served(
        {.method = reply.method,
         .route = reply.route,
         .token = token ? std::string_view{token->name} : std::string_view{},
         .status = reply.status,
         .waited = reply.waited,
         .took = Clock::now() - asked_at_,
         .bytes_in = reader_.request().body_bytes,
         .bytes_out = out_.size() + static_out_.size()});
}

Task<bool> Session::shake_hands() {
    enter(Phase::handshake, worker_.options().handshake_deadline);
    Tls::Want want = tls_->handshake();
    while (want != Tls::Want::nothing) {
        error_code error;
        if (want != Tls::Want::closed) co_await wait_until(want, error);
        if (error || expired_ || want == Tls::Want::closed) {
            happened(ConnectionEvent::no_handshake);
            if (tls_->met_plain_http()) tell_to_use_tls();
            co_return false;
        }
        want = tls_->handshake();
    }
    certificate_ = tls_->client_certificate();
    co_return true;
}

void Session::tell_to_use_tls() {
    tls_.reset();
    last_ = lingering_ = true;
    asked_at_ = Clock::now();
    print_reply(dispatcher_.error(
        reader_.request(),
        {.status = 400,
         .code = "bad_request",
         .detail = "this server speaks TLS: use a URL that begins with https://"}));
    (void)send_at_once();
}

Task<void> Session::wait_until(Tls::Want want, error_code& error) {
    const auto ready = want == Tls::Want::read ? Socket::wait_read : Socket::wait_write;
    co_await socket_.async_wait(ready, asio::redirect_error(use_task, error));
}

Task<std::size_t> Session::read_some(std::span<char> space, error_code& error) {
    for (;;) {
        const auto [bytes, want] = tls_->read(space);
        if (bytes > 0) co_return bytes;
        if (want == Tls::Want::closed) error = asio::error::eof;
        if (!error) co_await wait_until(want, error);
        if (error) co_return 0;
    }
}

Task<void> Session::run() {
    if (tls_) {
        const bool shaken = co_await shake_hands();
        if (!shaken && lingering_) co_await linger();
        if (!shaken) co_return;
    }
    while (co_await receive()) {
        enter(Phase::answering, unbounded);
        asked_at_ = Clock::now();
        Reply reply;
        if (reader_.state() == State::refused) {
            reply = std::move(refusal_);
            last_ = lingering_ = true;
        } else {
            reply = co_await dispatcher_.answer(reader_.request(), *this);
            if (!reader_.request().keep_alive || reply.stream || reply.last) last_ = true;
        }
        print_reply(reply);
        free_text(reply.body);
        co_await send_with_others();
        bool sent = unsent_ == 0;
        if (!sent) sent = co_await send_rest();
        if (!sent && reply.if_unsent) reply.if_unsent();
        reader_.request().answer_share.give_back();
        streaming_ = sent && reply.stream && !must_reconnect_;
        if (streaming_) co_await send_stream(std::move(reply.stream));
        // The client may already have sent more. Closing now would reset the connection before the
        // client has read the answer.
        if (sent && last_) lingering_ = true;
        if (!sent || last_) break;
        empty_for_reuse(out_);
        reader_.next();
    }
    if (tls_) tls_->say_goodbye();
    if (lingering_) co_await linger();
}

Task<bool> Session::receive() {
    const ServerOptions& options = worker_.options();
    State state = reader_.state();
    Phase phase = Phase::answering;   // any phase that does not read
    std::shared_ptr<void> receiving;  // a large body
    while (state != State::whole && state != State::refused) {
        if (state == State::idle && last_) co_return false;
        if (state == State::idle && phase != Phase::idle) {
            const auto stranger = std::min(options.first_byte, options.idle);
            enter(phase = Phase::idle, known_ ? options.idle : stranger);
            idle_since_ = Clock::now();
            if (known_) worker_.is_idle(*this);
        } else if (state == State::header && phase != Phase::header) {
            enter(phase = Phase::header, options.header_deadline);
        } else if (state == State::body && phase != Phase::body) {
            state = admit_body();
            if (state == State::body) state = admit_more(receiving);
            if (state == State::refused) break;
            enter(phase = Phase::body, options.body_deadline);
            if (reader_.take_expect_continue()) {
                out_ = "HTTP/1.1 100 Continue\r\n\r\n";
                static_out_ = {};
                unsent_ = out_.size();
                if (!send_at_once()) co_return false;
            }
        }
        const auto space = reader_.space();
        error_code error;
        std::size_t bytes = 0;
        if (tls_) {
            bytes = co_await read_some(space, error);
        } else {
            bytes = co_await socket_.async_read_some(asio::buffer(space.data(), space.size()),
                                                     asio::redirect_error(use_task, error));
        }
        if (expired_) error = asio::error::timed_out;  // also if bytes have just arrived
        if (expired_) happened(missed_in(state));
        if (expired_ && state != State::idle) {
            last_ = lingering_ = true;
            asked_at_ = Clock::now();
            print_reply(
                dispatcher_.error(reader_.request(), makes_room_ ? too_many_bodies() : too_slow()));
            (void)send_at_once();
            co_return false;
        }
        if (error) co_return false;
        if (known_) {
            in_line.unlink();
        } else {
            worker_.heard_of(*this);
        }
        state = reader_.received(bytes);
        if (state == State::body && phase == Phase::body) state = admit_more(receiving);
    }
    if (const auto& problem = reader_.problem()) {
        refusal_ = dispatcher_.error(reader_.request(), *problem);
    }
    co_return true;
}

State Session::admit_body() {
    auto refusal = dispatcher_.refusal_before_body(reader_.body_bytes(), reader_.request(), *this);
    return refusal ? refuse(*std::move(refusal)) : State::body;
}

State Session::refuse(Reply refusal) {
    refusal_ = std::move(refusal);
    return reader_.refuse();
}

State Session::admit_more(std::shared_ptr<void>& receiving) {
    HttpRequest& request = reader_.request();
    MemoryBudget::Share& share = request.body_share;
    // A body without a length in the header: it is known only now that there is one.
    if (!request.takes_body && !request.body.empty()) {
        request.drop_body();
        return refuse(dispatcher_.refusal_of_body(request, *this, takes_no_body()));
    }
    if (request.body.size() <= HttpRequest::small_body_bytes) return State::body;
    const auto room =
        share.grow_to(dispatcher_.bodies(), id_of(request.token.get()), request.body.size());
    if (room == MemoryBudget::Room::enough) {
        if (receiving) return State::body;
        // Until it is complete, the body counts as slow.
        receiving = std::make_shared<char>();
        share.may_be_ended(to_make_room(receiving));
        return State::body;
    }
    request.drop_body();
    const Problem problem = room == MemoryBudget::Room::token_has_too_much
                                ? too_many_bodies_of(*request.token)
                                : too_many_bodies();
    return refuse(dispatcher_.refusal_of_body(request, *this, problem));
}

void Session::print_reply(const Reply& reply) {
    HttpRequest& request = reader_.request();
    const WithBody with_body = request.method == "HEAD" ? WithBody::no : WithBody::yes;
    out_.clear();
    try {
        print(out_, reply, worker_.date(), last_ ? AfterReply::close : AfterReply::keep_open,
              with_body, tls_ ? worker_.fields_with_tls() : std::string_view{});
        static_out_ = with_body == WithBody::yes ? reply.static_body : std::string_view{};
        request.answer_share.count(dispatcher_.unsent_answers(), id_of(request.token.get()),
                                   out_.size());
    } catch (const std::bad_alloc&) {
        free_text(out_);
        static_out_ = dispatcher_.without_memory(request, tls_ ? WithTls::yes : WithTls::no);
        last_ = true;
    }
    unsent_ = out_.size() + static_out_.size();
    tell_observer(reply);
}

std::array<std::string_view, 2> Session::unsent() const noexcept {
    const std::size_t rest = std::min(unsent_, static_out_.size());
    return {std::string_view{out_}.substr(out_.size() - (unsent_ - rest)),
            static_out_.substr(static_out_.size() - rest)};
}

Tls::Want Session::write_some() {
    for (const std::string_view part : unsent()) {
        if (part.empty()) continue;
        const auto [bytes, want] = tls_->write(part);
        unsent_ -= bytes;
        if (bytes < part.size()) return want;
    }
    return Tls::Want::nothing;
}

bool Session::send_at_once() {
    if (tls_) {
        (void)write_some();
    } else {
        error_code error;
        unsent_ -= socket_.write_some(buffers_of(unsent()), error);
    }
    return unsent_ == 0;
}

Task<void> Session::send_with_others() {
    auto initiate = [this](Resume resume) { worker_.send_soon(*this, std::move(resume)); };
    return asio::async_initiate<const asio::use_awaitable_t<Executor>, void()>(initiate, use_task);
}

std::function<void()> Session::to_make_room(const std::shared_ptr<void>& under_way) {
    return [this, &context = worker_.context(), seen = std::weak_ptr{under_way}] {
        asio::post(context, [this, seen] {
            if (!seen.lock()) return;
            makes_room_ = true;
            expire();
        });
    };
}

Task<bool> Session::send_rest() {
    enter(Phase::writing, worker_.options().write_deadline);
    error_code error;
    std::shared_ptr<void> sending;
    if (reader_.request().answer_share.is_counted()) {
        sending = std::make_shared<char>();
        reader_.request().answer_share.may_be_ended(to_make_room(sending));
    }
    while (tls_ && unsent_ > 0 && !error) {
        const Tls::Want want = write_some();
        if (want == Tls::Want::closed) error = asio::error::eof;
        if (unsent_ > 0 && !error) co_await wait_until(want, error);
    }
    if (!tls_) {
        const auto rest = buffers_of(unsent());
        co_await asio::async_write(socket_, rest, asio::redirect_error(use_task, error));
    }
    if (error && expired_) {
        happened(ConnectionEvent::slow_reader);
        // Otherwise the system would keep what the client has not received.
        error_code ignored;
        socket_.set_option(asio::socket_base::linger{true, 0}, ignored);
    }
    co_return !error;
}

// Wakes send_stream() when there is an event to send or the client is gone.
struct Session::News {
    explicit News(const Executor& executor) : timer{executor} {}

    asio::basic_waitable_timer<Clock, asio::wait_traits<Clock>, Executor> timer;
    bool gone = false;
};

Task<void> Session::send_stream(std::shared_ptr<BodyStream> stream) {
    const Executor executor = co_await asio::this_coro::executor;
    const auto news = std::make_shared<News>(executor);
    const std::weak_ptr<News> seen{news};
    watch([seen] {
        if (const auto waiting = seen.lock()) {
            waiting->gone = true;
            waiting->timer.cancel();
        }
    });
    stream->on_news([this, executor, seen, sent = stream.get()] {
        asio::post(executor, [this, seen, sent] {
            const auto waiting = seen.lock();
            if (!waiting) return;
            waiting->timer.cancel();
            if (phase_ == Phase::writing && sent->state() == BodyStream::State::lost) cut();
        });
    });

    const auto token = reader_.request().token;
    error_code ignored;
    const auto heartbeat = worker_.options().events_heartbeat;
    auto next_heartbeat = Clock::now() + heartbeat;
    auto state = BodyStream::State::open;
    static_out_ = {};
    while (state == BodyStream::State::open && !news->gone) {
        enter(Phase::answering, unbounded);
        out_.clear();
        // A token of the same name may have got a later expiry since.
        const bool expired = token && is_expired(*token);
        if (expired) stream->end_if_revoked();
        state = stream->take(out_);
        if (state == BodyStream::State::lost) break;
        if (out_.empty() && Clock::now() >= next_heartbeat) stream->print_heartbeat(out_);
        if (out_.empty()) {
            empty_for_reuse(out_);
            auto wakes_at = next_heartbeat;
            if (token && !expired) wakes_at = std::min(wakes_at, Clock::now() + time_left(*token));
            news->timer.expires_at(wakes_at);
            co_await news->timer.async_wait(asio::redirect_error(use_task, ignored));
            continue;
        }
        unsent_ = out_.size();
        bool sent = send_at_once();
        if (!sent) sent = co_await send_rest();
        if (!sent) break;
        next_heartbeat = Clock::now() + heartbeat;
    }
    stream->on_news({});
    (void)unwatch();
}

Task<void> Session::linger() {
    reader_.request().drop_body();
    error_code error;
    socket_.shutdown(Socket::shutdown_send, error);
    enter(Phase::closing, linger_deadline);
    char ignored[512];
    while (!error && !expired_) {
        co_await socket_.async_read_some(asio::buffer(ignored),
                                         asio::redirect_error(use_task, error));
    }
}

}  // namespace leasehold::server
