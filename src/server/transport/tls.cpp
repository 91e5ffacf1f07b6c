#include "server/transport/tls.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <sys/socket.h>

#include <cerrno>
#include <ctime>
#include <new>

#include <leasehold/errors.hpp>

#include "core/secret_file.hpp"

namespace leasehold::server {
namespace {

constexpr const char* ciphers_of_tls_1_2 = "ECDHE+AESGCM:ECDHE+CHACHA20";
// The client chooses among these before it shows a token. A handshake with a large finite-field
// group costs more than a hundred times as much processor time.
constexpr const char* groups = "X25519:P-256:P-384";

std::string why() {
    const char* const reason = ERR_reason_error_string(ERR_peek_error());
    return reason != nullptr ? reason : "OpenSSL gives no reason";
}

[[noreturn]] void refuse(const std::string& what, const std::string& file, const std::string& why) {
    throw BadRequest{what + " '" + file + "' cannot be used: " + why};
}

constexpr std::size_t most_pem_bytes = 1 << 20;

void require_readable(const std::string& what, const std::string& file) {
    const auto content = read_regular_file(file, most_pem_bytes);
    if (!content) refuse(what, file, content.error());
}

int no_passphrase(char*, int, int, void*) {
    return 0;
}

// The functions of our own BIO for sockets. OpenSSL's socket BIO would raise SIGPIPE.
int socket_of(BIO* bio) {
    return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
}

int receive(BIO* bio, char* to, int size) {
    BIO_clear_retry_flags(bio);
    const ssize_t got = ::recv(socket_of(bio), to, static_cast<std::size_t>(size), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
    return static_cast<int>(got);
}

int send(BIO* bio, const char* from, int size) {
    BIO_clear_retry_flags(bio);
    const ssize_t sent = ::send(socket_of(bio), from, static_cast<std::size_t>(size), MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
    return static_cast<int>(sent);
}

long control(BIO*, int command, long, void*) {
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

const BIO_METHOD* socket_method() {
    static BIO_METHOD* const method = [] {
        BIO_METHOD* const made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
        BIO_meth_set_read(made, receive);
        BIO_meth_set_write(made, send);
        BIO_meth_set_ctrl(made, control);
        return made;
    }();
    return method;
}

BIO* wrapped(int socket) {
    BIO* const bio = BIO_new(socket_method());
    if (bio == nullptr) throw std::bad_alloc{};
    BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(socket)));
    BIO_set_init(bio, 1);
    return bio;
}

}  // namespace

void TlsIdentity::Free::operator()(ssl_ctx_st* context) const noexcept {
    SSL_CTX_free(context);
}

TlsIdentity::TlsIdentity(const std::string& certificate_file, const std::string& key_file)
    : context_{SSL_CTX_new(TLS_server_method())} {
    SSL_CTX* const context = context_.get();
    if (context == nullptr) throw std::bad_alloc{};
    ERR_clear_error();
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_cipher_list(context, ciphers_of_tls_1_2);
    if (SSL_CTX_set1_groups_list(context, groups) != 1) {
        throw BadRequest{"OpenSSL does not offer the groups " + std::string{groups} + ": " + why()};
    }
    // No session tickets, because their keys would never change while the server runs.
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE |
                                     SSL_OP_PRIORITIZE_CHACHA | SSL_OP_NO_TICKET);
    SSL_CTX_set_num_tickets(context, 0);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_default_passwd_cb(context, no_passphrase);

    require_readable("the certificate", certificate_file);
    if (SSL_CTX_use_certificate_chain_file(context, certificate_file.c_str()) != 1) {
        refuse("the certificate", certificate_file, why());
    }
    require_readable("the key", key_file);
    if (SSL_CTX_use_PrivateKey_file(context, key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
        refuse("the key", key_file, why());
    }
    if (SSL_CTX_check_private_key(context) != 1) {
        refuse("the key", key_file, "it does not belong to the certificate");
    }
}

std::chrono::sys_seconds TlsIdentity::valid_until() const {
    const X509* const certificate = SSL_CTX_get0_certificate(context_.get());
    std::tm end{};
    ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &end);
    return std::chrono::sys_seconds{std::chrono::seconds{::timegm(&end)}};
}

void Tls::Free::operator()(ssl_st* ssl) const noexcept {
    SSL_free(ssl);
}

Tls::Tls(const TlsIdentity& identity, int socket) : ssl_{SSL_new(identity.context_.get())} {
    if (!ssl_) throw std::bad_alloc{};
    BIO* const bio = wrapped(socket);
    SSL_set_bio(ssl_.get(), bio, bio);
    SSL_set_accept_state(ssl_.get());
}

Tls::~Tls() = default;

Tls::Want Tls::want_after(int result) {
    switch (SSL_get_error(ssl_.get(), result)) {
        case SSL_ERROR_NONE: return Want::nothing;
        case SSL_ERROR_WANT_READ: return Want::read;
        case SSL_ERROR_WANT_WRITE: return Want::write;
        case SSL_ERROR_ZERO_RETURN: return Want::closed;  // writing is still possible
        default: usable_ = false; return Want::closed;
    }
}

Tls::Want Tls::handshake() {
    if (!usable_) return Want::closed;
    ERR_clear_error();
    const Want want = want_after(SSL_do_handshake(ssl_.get()));
    met_plain_http_ =
        want == Want::closed && ERR_GET_REASON(ERR_peek_error()) == SSL_R_HTTP_REQUEST;
    return want;
}

Tls::Moved Tls::read(std::span<char> space) {
    if (!usable_) return {0, Want::closed};
    ERR_clear_error();
    std::size_t bytes = 0;
    const int result = SSL_read_ex(ssl_.get(), space.data(), space.size(), &bytes);
    return {bytes, want_after(result)};
}

Tls::Moved Tls::write(std::string_view bytes) {
    if (!usable_) return {0, Want::closed};
    std::size_t written = 0;
    while (written < bytes.size()) {
        ERR_clear_error();
        std::size_t some = 0;
        const int result =
            SSL_write_ex(ssl_.get(), bytes.data() + written, bytes.size() - written, &some);
        if (result != 1) return {written, want_after(result)};
        written += some;
    }
    return {written, Want::nothing};
}

void Tls::say_goodbye() noexcept {
    ERR_clear_error();
    if (usable_ && SSL_is_init_finished(ssl_.get()) == 1) SSL_shutdown(ssl_.get());
    ERR_clear_error();
}

}  // namespace leasehold::server
