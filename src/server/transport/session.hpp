#pragma once

#include <boost/intrusive/list.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "server/http/body_stream.hpp"
#include "server/monitoring/observer.hpp"
#include "server/protocol/dispatcher.hpp"
#include "server/tasks.hpp"
#include "server/transport/request_reader.hpp"
#include "server/transport/tls.hpp"

namespace leasehold::server {

class Worker;

// One connection: reads a request, has it answered, writes the answer, and again. Lives on the
// thread of its worker.
class Session final : public ClientConnection,
                      public boost::intrusive::list_base_hook<
                          boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
public:
    // Worker and dispatcher outlive this. With TLS where there is an identity.
    Session(Socket socket, Worker& worker, Dispatcher& dispatcher, const TlsIdentity* identity);
    ~Session() override;

    [[nodiscard]] Task<void> run();

    // Ends the operation under way where its time is up.
    void check_deadline(Clock::time_point now);
    // Closes the connection as soon as nothing is under way.
    void stop();
    // Closes it now.
    void cut();
    // What fits into the socket's buffer. True where that is all.
    bool send_at_once();

    [[nodiscard]] std::string peer() const override;
    void watch(std::function<void()> gone) override;
    [[nodiscard]] bool unwatch() override;

private:
    enum class Phase : std::uint8_t { handshake, idle, header, body, answering, writing, closing };

    struct Watch;
    struct News;

    // Reads what is there, for later; false where the client is gone.
    [[nodiscard]] bool still_there();
    void wait_for_bytes(const std::shared_ptr<Watch>& watch);

    void enter(Phase phase, std::chrono::milliseconds limit);
    // False where there is no speaking with this client.
    [[nodiscard]] Task<bool> shake_hands();
    void tell_to_use_tls();
    // Through TLS.
    [[nodiscard]] Task<std::size_t> read_some(std::span<char> space,
                                              boost::system::error_code& error);
    // Until the socket is ready to go on with what TLS was doing.
    [[nodiscard]] Task<void> wait_until(Tls::Want want, boost::system::error_code& error);
    // A whole request, or one that is refused. False where the connection is to be closed instead.
    [[nodiscard]] Task<bool> receive();
    // Decides, once the header is there, whether the body is read.
    [[nodiscard]] RequestReader::State admit_body();
    // Decides, when more of a body has come, whether the rest is read.
    [[nodiscard]] RequestReader::State admit_more();
    [[nodiscard]] RequestReader::State refuse(Reply refusal);
    // What does not fit into the socket's buffer is left; most answers fit.
    [[nodiscard]] Task<void> send_with_others();
    // False where the client is gone, or does not read.
    [[nodiscard]] Task<bool> send_rest();
    // Sends the stream until it ends or the client is gone.
    [[nodiscard]] Task<void> send_stream(std::shared_ptr<BodyStream> stream);
    // The client reads our last words before the connection is reset.
    [[nodiscard]] Task<void> linger();
    void print_reply(const Reply& reply);
    void tell_observer(const Reply& reply);
    void happened(ConnectionEvent event);

    Socket socket_;
    std::unique_ptr<Tls> tls_;  // nothing where the connection is plain
    Worker& worker_;
    Dispatcher& dispatcher_;
    RequestReader reader_;
    Reply refusal_;  // of the request that the reader refused
    std::string out_;
    std::size_t unsent_ = 0;  // bytes at the end of out_
    Phase phase_ = Phase::idle;
    bool expired_ = false;
    bool last_ = false;             // the connection ends with the reply under way
    bool lingering_ = false;        // the client may still be sending
    Clock::time_point asked_at_{};  // the request that is answered
    Clock::time_point deadline_ = Clock::time_point::max();
    std::shared_ptr<Watch> watch_;
};

}  // namespace leasehold::server
