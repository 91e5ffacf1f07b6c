#include "server/transport/tls.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <memory>
#include <new>
#include <utility>
#include <vector>

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

// The functions of our own BIO for sockets. OpenSSL's socket BIO would raise SIGPIPE, and read
// without an end.
Tls::Wire& wire_of(BIO* bio) {
    return *static_cast<Tls::Wire*>(BIO_get_data(bio));
}

int receive(BIO* bio, char* to, int size) {
    Tls::Wire& wire = wire_of(bio);
    BIO_clear_retry_flags(bio);
    if (wire.left_without_data == 0) return -1;
    if (wire.left_at_once == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    const std::size_t most =
        std::min({static_cast<std::size_t>(size), wire.left_at_once, wire.left_without_data});
    const ssize_t got = ::recv(wire.socket, to, most, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
    if (got > 0) wire.left_at_once -= static_cast<std::size_t>(got);
    if (got > 0) wire.left_without_data -= static_cast<std::size_t>(got);
    return static_cast<int>(got);
}

int send(BIO* bio, const char* from, int size) {
    BIO_clear_retry_flags(bio);
    const ssize_t sent =
        ::send(wire_of(bio).socket, from, static_cast<std::size_t>(size), MSG_NOSIGNAL);
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

BIO* wrapped(Tls::Wire& wire) {
    BIO* const bio = BIO_new(socket_method());
    if (bio == nullptr) throw std::bad_alloc{};
    BIO_set_data(bio, &wire);
    BIO_set_init(bio, 1);
    return bio;
}

std::chrono::sys_seconds end_of(const X509* certificate) {
    std::tm end{};
    ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &end);
    return std::chrono::sys_seconds{std::chrono::seconds{::timegm(&end)}};
}

// "CN=authority,O=Shop"
std::string printed(const X509_NAME* name) {
    const std::unique_ptr<BIO, decltype(&BIO_free)> memory{BIO_new(BIO_s_mem()), BIO_free};
    if (!memory) throw std::bad_alloc{};
    X509_NAME_print_ex(memory.get(), name, 0, XN_FLAG_RFC2253);
    char* text = nullptr;
    const long size = BIO_get_mem_data(memory.get(), &text);
    return {text, static_cast<std::size_t>(size)};
}

// The authorities of a file, and whose lists of revoked certificates (CRLs) it has.
struct Authorities {
    std::vector<const X509_NAME*> names;
    std::vector<const X509_NAME*> with_list;

    explicit Authorities(X509_STORE* store) {
        STACK_OF(X509_OBJECT)* const objects = X509_STORE_get0_objects(store);
        for (int i = 0; i < sk_X509_OBJECT_num(objects); ++i) {
            const X509_OBJECT* const object = sk_X509_OBJECT_value(objects, i);
            if (const X509* const authority = X509_OBJECT_get0_X509(object)) {
                names.push_back(X509_get_subject_name(authority));
            }
            if (X509_OBJECT_get_type(object) == X509_LU_CRL) {
                with_list.push_back(X509_CRL_get_issuer(X509_OBJECT_get0_X509_CRL(object)));
            }
        }
    }
    [[nodiscard]] bool has_list_of(const X509_NAME* name) const {
        return std::ranges::any_of(
            with_list, [&](const X509_NAME* one) { return X509_NAME_cmp(one, name) == 0; });
    }
};

// Checks every certificate of a client's chain against the list of its authority, if the file has
// lists. OpenSSL then refuses each chain for which it misses a list, so that a missing one is an
// error of the file.
void check_revocations(X509_STORE* store, const std::string& file) {
    const Authorities authorities{store};
    if (authorities.with_list.empty()) return;
    for (const X509_NAME* const name : authorities.names) {
        if (authorities.has_list_of(name)) continue;
        refuse("the file of client authorities", file,
               "it has lists of revoked certificates (CRLs), but none of the authority '" +
                   printed(name) + "'; add that list, also if it is empty");
    }
    X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL);
}

// A client may show a certificate of these authorities. Sessions are not resumed: a resumed session
// would not look at the certificate again.
void trust_clients_of(SSL_CTX* context, const std::string& file) {
    constexpr int longest_chain = 5;
    require_readable("the file of client authorities", file);
    STACK_OF(X509_NAME)* const names = SSL_load_client_CA_file(file.c_str());
    if (names == nullptr || SSL_CTX_load_verify_file(context, file.c_str()) != 1) {
        refuse("the file of client authorities", file, why());
    }
    SSL_CTX_set_client_CA_list(context, names);
    check_revocations(SSL_CTX_get_cert_store(context), file);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_verify_depth(context, longest_chain);
    SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
    SSL_CTX_set_num_tickets(context, 0);
}

// A text of a certificate. Empty if it holds a zero byte, before which it could look like another.
std::string text_of(const ASN1_STRING* encoded) {
    unsigned char* utf8 = nullptr;
    const int size = ASN1_STRING_to_UTF8(&utf8, encoded);
    if (size < 0) return {};
    std::string text{reinterpret_cast<const char*>(utf8), static_cast<std::size_t>(size)};
    OPENSSL_free(utf8);
    return text.find('\0') == std::string::npos ? text : std::string{};
}

constexpr std::size_t most_client_names = 100;

void add_client_name(std::vector<std::string>& names, const char* kind,
                     const ASN1_STRING* encoded) {
    const std::string text = text_of(encoded);
    if (!text.empty() && names.size() < most_client_names) names.push_back(kind + text);
}

std::vector<std::string> client_names_in(const X509* certificate) {
    std::vector<std::string> names;
    const X509_NAME* const subject = X509_get_subject_name(certificate);
    const int common = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    // A certificate with several common names is ambiguous, so none of them is used.
    const bool only = X509_NAME_get_index_by_NID(subject, NID_commonName, common) < 0;
    if (common >= 0 && only) {
        add_client_name(names,
                        "CN=", X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, common)));
    }
    auto* const others = static_cast<GENERAL_NAMES*>(
        X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
    for (int i = 0; i < sk_GENERAL_NAME_num(others); ++i) {
        int type = 0;
        const void* const value = GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(others, i), &type);
        const auto* const text = static_cast<const ASN1_STRING*>(value);
        if (type == GEN_DNS) add_client_name(names, "DNS:", text);
        if (type == GEN_URI) add_client_name(names, "URI:", text);
        if (type == GEN_EMAIL) add_client_name(names, "email:", text);
    }
    GENERAL_NAMES_free(others);
    return names;
}

}  // namespace

void TlsIdentity::Free::operator()(ssl_ctx_st* context) const noexcept {
    SSL_CTX_free(context);
}

TlsIdentity::TlsIdentity(const std::string& certificate_file, const std::string& key_file,
                         const std::string& client_ca_file)
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
    SSL_CTX_set_client_hello_cb(context, Tls::on_client_hello, nullptr);

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
    if (!client_ca_file.empty()) trust_clients_of(context, client_ca_file);
}

std::chrono::sys_seconds TlsIdentity::valid_until() const {
    return end_of(SSL_CTX_get0_certificate(context_.get()));
}

void Tls::Free::operator()(ssl_st* ssl) const noexcept {
    SSL_free(ssl);
}

Tls::Tls(const TlsIdentity& identity, int socket, std::function<bool()> may_begin)
    : wire_{.socket = socket},
      ssl_{SSL_new(identity.context_.get())},
      may_begin_{std::move(may_begin)} {
    if (!ssl_) throw std::bad_alloc{};
    SSL_set_app_data(ssl_.get(), this);
    BIO* const bio = wrapped(wire_);
    SSL_set_bio(ssl_.get(), bio, bio);
    SSL_set_accept_state(ssl_.get());
}

Tls::~Tls() = default;

// Called again if the client has to send another ClientHello.
int Tls::on_client_hello(ssl_st* ssl, int* alert, void* /*unused*/) {
    const auto may_begin = std::exchange(static_cast<Tls*>(SSL_get_app_data(ssl))->may_begin_, {});
    *alert = SSL_AD_USER_CANCELLED;
    try {
        if (!may_begin || may_begin()) return SSL_CLIENT_HELLO_SUCCESS;
    } catch (const std::bad_alloc&) {
        *alert = SSL_AD_INTERNAL_ERROR;  // no exception may pass through OpenSSL
    }
    return SSL_CLIENT_HELLO_ERROR;
}

Tls::Want Tls::want_after(int result) {
    switch (SSL_get_error(ssl_.get(), result)) {
        case SSL_ERROR_NONE: return Want::nothing;
        case SSL_ERROR_WANT_READ:
            wire_.left_at_once = most_at_once;  // others have their turn before the next call
            return Want::read;
        case SSL_ERROR_WANT_WRITE: return Want::write;
        case SSL_ERROR_ZERO_RETURN: return Want::closed;  // writing is still possible
        default: usable_ = false; return Want::closed;
    }
}

Tls::Want Tls::handshake() {
    if (!usable_) return Want::closed;
    ERR_clear_error();
    const Want want = want_after(SSL_do_handshake(ssl_.get()));
    if (want == Want::nothing) wire_.left_without_data = most_without_data;
    met_plain_http_ =
        want == Want::closed && ERR_GET_REASON(ERR_peek_error()) == SSL_R_HTTP_REQUEST;
    return want;
}

std::optional<ClientCertificate> Tls::client_certificate() const {
    const X509* const certificate = SSL_get0_peer_certificate(ssl_.get());
    if (certificate == nullptr || SSL_get_verify_result(ssl_.get()) != X509_V_OK) {
        return std::nullopt;
    }
    return ClientCertificate{.names = client_names_in(certificate),
                             .valid_until = end_of(certificate)};
}

Tls::Moved Tls::read(std::span<char> space) {
    if (!usable_) return {0, Want::closed};
    ERR_clear_error();
    std::size_t bytes = 0;
    const int result = SSL_read_ex(ssl_.get(), space.data(), space.size(), &bytes);
    if (bytes > 0) wire_.left_without_data = most_without_data;
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
