#include "server/client.hpp"

#include <openssl/ssl.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

#include <algorithm>
#include <csignal>
#include <stdexcept>
#include <utility>

#include "server/certificates.hpp"
#include "unit/waiting.hpp"

namespace leasehold::testing {
namespace {

constexpr std::string_view end_of_header = "\r\n\r\n";

std::string lower(std::string_view text) {
    std::string result{text};
    std::ranges::transform(result, result.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return result;
}

Answer read_header(std::string_view header) {
    Answer answer;
    answer.status = static_cast<unsigned>(std::stoul(std::string{header.substr(9, 3)}));
    answer.reason = header.substr(13, header.find('\r') - 13);
    std::size_t line = header.find("\r\n");
    while (line != header.npos && line + 2 < header.size()) {
        const std::size_t begin = line + 2;
        line = header.find("\r\n", begin);
        const std::string_view field = header.substr(begin, line - begin);
        const std::size_t colon = field.find(": ");
        answer.fields[lower(field.substr(0, colon))] = field.substr(colon + 2);
    }
    return answer;
}

}  // namespace

boost::json::value Answer::json() const {
    return boost::json::parse(body);
}

std::string Answer::code() const {
    return std::string{std::string_view{json().at("code").as_string()}};
}

Client::Client(std::uint16_t port) : socket_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
    const timeval limit{.tv_sec = patience.count(), .tv_usec = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        ::close(socket_);
        throw std::runtime_error{"nobody listens on port " + std::to_string(port)};
    }
}

Client::Client(Client&& other) noexcept
    : socket_{std::exchange(other.socket_, -1)},
      tls_{std::move(other.tls_)},
      received_{std::move(other.received_)},
      sent_{std::move(other.sent_)},
      described_{other.described_} {}

Client::~Client() {
    close();
}

void Client::close() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
}

bool Client::secure(const std::string& trusted, int version, const char* groups,
                    const Certificate* own, const char* ciphers) {
    ::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes without MSG_NOSIGNAL
    const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context{
        SSL_CTX_new(TLS_client_method()), SSL_CTX_free};
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
    SSL_CTX_load_verify_file(context.get(), trusted.c_str());
    SSL_CTX_set_min_proto_version(context.get(), 0);
    SSL_CTX_set_max_proto_version(context.get(), version);
    SSL_CTX_set_security_level(context.get(), 0);
    if (groups != nullptr && SSL_CTX_set1_groups_list(context.get(), groups) != 1) return false;
    if (ciphers != nullptr && SSL_CTX_set_cipher_list(context.get(), ciphers) != 1) return false;
    if (own != nullptr) {
        SSL_CTX_use_certificate_chain_file(context.get(), own->file.c_str());
        SSL_CTX_use_PrivateKey_file(context.get(), own->key.c_str(), SSL_FILETYPE_PEM);
    }
    tls_ = {SSL_new(context.get()), SSL_free};
    SSL_set1_host(tls_.get(), "localhost");
    SSL_set_fd(tls_.get(), socket_);
    return SSL_connect(tls_.get()) == 1;
}

bool Client::renegotiate() {
    return SSL_renegotiate(tls_.get()) == 1 && SSL_do_handshake(tls_.get()) == 1;
}

bool Client::update_key() {
    return SSL_key_update(tls_.get(), SSL_KEY_UPDATE_NOT_REQUESTED) == 1 &&
           SSL_do_handshake(tls_.get()) == 1;
}

std::string Client::tls_version() const {
    return SSL_get_version(tls_.get());
}

bool Client::has_session_ticket() const {
    const SSL_SESSION* const session = SSL_get0_session(tls_.get());
    return session != nullptr && SSL_SESSION_has_ticket(session) == 1;
}

void Client::half_close() {
    ::shutdown(socket_, SHUT_WR);
}

void Client::send(std::string_view bytes) {
    sent_.add(bytes);
    while (!bytes.empty()) {
        const ssize_t sent =
            tls_ ? SSL_write(tls_.get(), bytes.data(), static_cast<int>(bytes.size()))
                 : ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent <= 0) return;  // receiving shows why
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
}

bool Client::fill() {
    char piece[16 * 1024];
    const ssize_t got =
        tls_ ? SSL_read(tls_.get(), piece, sizeof piece) : ::recv(socket_, piece, sizeof piece, 0);
    if (got <= 0) return false;
    received_.append(piece, static_cast<std::size_t>(got));
    return true;
}

Answer Client::take_header() {
    std::size_t end = received_.find(end_of_header);
    while (end == received_.npos) {
        if (!fill()) return {};
        end = received_.find(end_of_header);
    }
    Answer answer = read_header(std::string_view{received_}.substr(0, end));
    received_.erase(0, end + end_of_header.size());
    return answer;
}

void Client::compare_with_description(const Answer& answer, WithBody with_body) {
    constexpr unsigned go_on = 100;
    if (!described_ || answer.status == 0 || answer.status == go_on) return;
    const DescribedRequest request = sent_.next();
    DescribedAnswer described{.status = answer.status, .content_type = {}, .body = {}};
    if (const auto type = answer.fields.find("content-type"); type != answer.fields.end()) {
        described.content_type = type->second;
    }
    if (with_body == WithBody::yes && request.method != "HEAD") described.body = answer.body;
    const std::string problem = OpenApi::of_this_build().problem_with(request, described);
    EXPECT_EQ(problem, "") << request.method << " " << request.target << " " << request.body
                           << "\nwas answered with " << answer.status << " " << answer.body
                           << "\nwhich openapi.json does not describe";
}

Answer Client::receive_head() {
    Answer answer = take_header();
    compare_with_description(answer, WithBody::no);
    return answer;
}

Answer Client::receive() {
    Answer answer = take_header();
    const std::size_t size =
        answer.fields.contains("content-length") ? std::stoul(answer.fields["content-length"]) : 0;
    while (received_.size() < size) {
        if (!fill()) return {};
    }
    answer.body = received_.substr(0, size);
    received_.erase(0, size);
    compare_with_description(answer, WithBody::yes);
    return answer;
}

Answer Client::ask(std::string_view method, std::string_view target, std::string_view body,
                   std::string_view fields) {
    send(message(method, target, body, fields));
    return receive();
}

std::string Client::receive_some() {
    if (received_.empty()) (void)fill();
    return std::exchange(received_, {});
}

bool Client::hears() const {
    char byte = 0;
    return ::recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

bool Client::is_cut() const {
    char byte = 0;
    const ssize_t got = ::recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno != EAGAIN);
}

bool Client::closed() {
    errno = 0;
    return received_.empty() && !fill() && errno != EAGAIN;
}

std::string message(std::string_view method, std::string_view target, std::string_view body,
                    std::string_view fields) {
    std::string text;
    text.append(method).append(" ").append(target).append(" HTTP/1.1\r\nHost: localhost\r\n");
    if (!body.empty()) {
        text.append("Content-Type: application/json\r\nContent-Length: ");
        text.append(std::to_string(body.size())).append("\r\n");
    }
    return text.append(fields).append("\r\n").append(body);
}

std::string lock_token(std::string_view lock_id) {
    return "Lock-Token: " + std::string{lock_id} + "\r\n";
}

std::string lock_token_of(const Answer& granted) {
    const auto lease = granted.json();
    return lock_token(std::string_view{lease.at("lock_id").as_string()});
}

}  // namespace leasehold::testing
