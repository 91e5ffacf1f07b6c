#pragma once

#include <boost/intrusive/list.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "server/http/body_stream.hpp"
#include "server/monitoring/observer.hpp"
#include "server/protocol/dispatcher.hpp"
#include "server/tasks.hpp"
#include "server/transport/connections.hpp"
#include "server/transport/peers.hpp"
#include "server/transport/request_reader.hpp"
#include "server/transport/tls.hpp"

namespace leasehold::server {

class Worker;

// One connection of a client. Runs on the thread of its worker.
// 1. Shake hands, if the connection uses TLS.
// 2. Read a request. The dispatcher may refuse it before its body is read.
// 3. Let the dispatcher answer it.
// 4. Write the answer, and the stream that follows it, if any.
// 5. Continue with step 2, or close the connection.
class Session final : public ClientConnection,
                      public boost::intrusive::list_base_hook<
                          boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
public:
    // Worker and dispatcher outlive this. Uses TLS if there is an identity. Keeps the place of its
    // peer until its client is known.
    Session(Socket socket, Worker& worker, Dispatcher& dispatcher, const TlsIdentity* identity,
            Connections::Counted counted, Peer peer);
    ~Session() override;

    [[nodiscard]] Task<void> run();

    // Ends the operation under way if its deadline has passed. Call it until the operation ends.
    void check_deadline(Clock::time_point now);
    // Closes the connection after the request under way, if any.
    void stop();
    // Closes the connection now.
    void cut();
    // Closes the connection now, because another client needs its place.
    void evict();
    // Since when the client of an idle connection has been silent.
    [[nodiscard]] Clock::time_point idle_since() const noexcept { return idle_since_; }
    // Ends a connection whose client was authenticated by its certificate, with its stream or its
    // wait for a key: it shows the certificate again on its next connection.
    void stop_if_certified();
    // Sends as much as fits into the socket's buffer. True if that was everything.
    bool send_at_once();

    [[nodiscard]] std::string peer() const override { return peer_.name; }
    [[nodiscard]] bool is_known() const noexcept override { return known_; }
    void identified(std::shared_ptr<void> place) override;
    [[nodiscard]] const ClientCertificate* certificate() const override {
        return certificate_ ? &*certificate_ : nullptr;
    }
    void watch(std::function<void()> gone) override;
    [[nodiscard]] bool unwatch() override;

    // In the worker's list of strangers, or of idle clients.
    boost::intrusive::list_member_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>
        in_line;

private:
    enum class Phase : std::uint8_t { handshake, idle, header, body, answering, writing, closing };

    struct Watch;
    struct News;

    // Reads bytes that have arrived, for the next request. False if the client is gone.
    [[nodiscard]] bool still_there();
    void wait_for_bytes(const std::shared_ptr<Watch>& watch);
    // Tells that the client is gone, or must connect anew.
    static void end(Watch& watch);

    void enter(Phase phase, std::chrono::milliseconds limit);
    // Ends the operation under way: its time is over.
    void expire();
    // False if the handshake failed.
    [[nodiscard]] Task<bool> shake_hands();
    void tell_to_use_tls();
    // Reads through TLS.
    [[nodiscard]] Task<std::size_t> read_some(std::span<char> space,
                                              boost::system::error_code& error);
    // Waits until the socket is ready for what TLS wants.
    [[nodiscard]] Task<void> wait_until(Tls::Want want, boost::system::error_code& error);
    // Reads a request until it is complete or refused. False if the connection has to be closed.
    [[nodiscard]] Task<bool> receive();
    // Decides after the header whether the body is read.
    [[nodiscard]] RequestReader::State admit_body();
    // Decides after each part of the body whether the rest is read. Sets `receiving` for a large
    // body, which may have to make room for others as long as `receiving` exists.
    [[nodiscard]] RequestReader::State admit_more(std::shared_ptr<void>& receiving);
    [[nodiscard]] RequestReader::State refuse(Reply refusal);
    // Sends the answer together with the other answers of this turn of the loop, see
    // Worker::send_soon(). Most answers fit into the socket's buffer; send_rest() sends the rest.
    [[nodiscard]] Task<void> send_with_others();
    // False if the client is gone or does not read, also because others need the room of a large
    // answer.
    [[nodiscard]] Task<bool> send_rest();
    // Ends the operation under way for others that need its room, as long as `under_way` exists. To
    // be called on any thread.
    [[nodiscard]] std::function<void()> to_make_room(const std::shared_ptr<void>& under_way);
    // Sends the stream until it ends or the client is gone.
    [[nodiscard]] Task<void> send_stream(std::shared_ptr<BodyStream> stream);
    // Reads until the client closes the connection. Closing earlier, while the client still sends,
    // would reset the connection before the client has read the answer.
    [[nodiscard]] Task<void> linger();
    void print_reply(const Reply& reply);
    // The unsent bytes of out_ and of static_out_.
    [[nodiscard]] std::array<std::string_view, 2> unsent() const noexcept;
    // Sends through TLS. Returns what it wants before it continues.
    [[nodiscard]] Tls::Want write_some();
    void tell_observer(const Reply& reply);
    void happened(ConnectionEvent event);

    Connections::Counted counted_;
    Peer peer_;
    std::shared_ptr<void> token_place_;  // of the first token that was shown
    bool known_ = false;                 // see Connections
    Clock::time_point idle_since_{};     // valid in Phase::idle
    Socket socket_;
    std::unique_ptr<Tls> tls_;  // nullptr without TLS
    std::optional<ClientCertificate> certificate_;
    Worker& worker_;
    Dispatcher& dispatcher_;
    RequestReader reader_;
    Reply refusal_;  // the answer to a request that was refused while it was read
    std::string out_;
    std::string_view static_out_;  // is sent behind out_
    std::size_t unsent_ = 0;       // bytes at the end of both
    Phase phase_ = Phase::idle;
    bool expired_ = false;
    bool makes_room_ = false;       // it expired because others need its room
    bool last_ = false;             // the connection is closed after the current reply
    bool must_reconnect_ = false;   // see stop_if_certified()
    bool streaming_ = false;        // the body of the current reply is a stream
    bool lingering_ = false;        // linger() before closing: the client may still send
    Clock::time_point asked_at_{};  // when the current request was complete
    Clock::time_point deadline_ = Clock::time_point::max();
    std::shared_ptr<Watch> watch_;
};

}  // namespace leasehold::server
