#include "server/certificates.hpp"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <stdexcept>

namespace leasehold::testing {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Signed = std::unique_ptr<X509, decltype(&X509_free)>;
using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

void require_openssl(bool done) {
    if (!done) throw std::runtime_error{"a certificate cannot be made"};
}

template <class Write>
void write(const std::string& path, Write content) {
    const File file{std::fopen(path.c_str(), "w"), std::fclose};
    require_openssl(file != nullptr && content(file.get()) == 1);
    std::filesystem::permissions(
        path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

void add_extension(X509* certificate, int kind, const std::string& value) {
    const std::unique_ptr<X509_EXTENSION, decltype(&X509_EXTENSION_free)> extension{
        X509V3_EXT_conf_nid(nullptr, nullptr, kind, value.c_str()), X509_EXTENSION_free};
    require_openssl(extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1);
}

Key key_in(const std::string& path) {
    const File file{std::fopen(path.c_str(), "r"), std::fclose};
    require_openssl(file != nullptr);
    Key key{PEM_read_PrivateKey(file.get(), nullptr, nullptr, nullptr), EVP_PKEY_free};
    require_openssl(key != nullptr);
    return key;
}

Signed certificate_in(const std::string& path) {
    const File file{std::fopen(path.c_str(), "r"), std::fclose};
    require_openssl(file != nullptr);
    Signed certificate{PEM_read_X509(file.get(), nullptr, nullptr, nullptr), X509_free};
    require_openssl(certificate != nullptr);
    return certificate;
}

long next_serial() {
    static std::atomic<long> last{0};
    return ++last;
}

}  // namespace

struct Certificate::Contents {
    std::string names{};
    const Certificate* issuer = nullptr;  // nullptr: itself
    bool signs_others = false;
    bool rsa = false;
    std::chrono::seconds life = std::chrono::hours{24};
};

Certificate::Certificate(const std::filesystem::path& folder, const std::string& name,
                         const std::string& names)
    : Certificate{folder, name, Contents{.names = names}} {}

Certificate::Certificate(const std::filesystem::path& folder, const std::string& name,
                         const std::string& names, const Certificate& authority,
                         std::chrono::seconds life)
    : Certificate{folder, name, Contents{.names = names, .issuer = &authority, .life = life}} {}

Certificate Certificate::authority(const std::filesystem::path& folder, const std::string& name,
                                   const Certificate* issuer) {
    return {folder, name, Contents{.issuer = issuer, .signs_others = true}};
}

Certificate Certificate::with_rsa_key(const std::filesystem::path& folder, const std::string& name,
                                      const std::string& names) {
    return {folder, name, Contents{.names = names, .rsa = true}};
}

Certificate::Certificate(const std::filesystem::path& folder, const std::string& name,
                         const Contents& contents)
    : file{folder / (name + ".pem")}, key{folder / (name + ".key")} {
    constexpr std::size_t rsa_bits = 2048;
    const Key pair{contents.rsa ? EVP_RSA_gen(rsa_bits) : EVP_EC_gen("P-256"), EVP_PKEY_free};
    const Signed certificate{X509_new(), X509_free};
    require_openssl(pair != nullptr && certificate != nullptr);
    X509_set_version(certificate.get(), X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), next_serial());
    constexpr long hour = 60L * 60;
    X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -hour);
    X509_gmtime_adj(X509_getm_notAfter(certificate.get()), contents.life.count());
    X509_set_pubkey(certificate.get(), pair.get());
    X509_NAME* const subject = X509_get_subject_name(certificate.get());
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
    const bool by_itself = contents.issuer == nullptr;
    const Signed issuer =
        by_itself ? Signed{nullptr, X509_free} : certificate_in(contents.issuer->file);
    X509_set_issuer_name(certificate.get(),
                         by_itself ? subject : X509_get_subject_name(issuer.get()));
    if (!contents.names.empty()) {
        add_extension(certificate.get(), NID_subject_alt_name, contents.names);
    }
    if (contents.signs_others) {
        add_extension(certificate.get(), NID_basic_constraints, "critical,CA:TRUE");
    }
    const Key issuers_key = by_itself ? Key{nullptr, EVP_PKEY_free} : key_in(contents.issuer->key);
    require_openssl(
        X509_sign(certificate.get(), by_itself ? pair.get() : issuers_key.get(), EVP_sha256()) > 0);
    write(file, [&](std::FILE* to) { return PEM_write_X509(to, certificate.get()); });
    write(key, [&](std::FILE* to) {
        return PEM_write_PrivateKey(to, pair.get(), nullptr, nullptr, 0, nullptr, nullptr);
    });
}

std::string Certificate::revoke(const std::vector<const Certificate*>& revoked) const {
    const std::unique_ptr<X509_CRL, decltype(&X509_CRL_free)> list{X509_CRL_new(), X509_CRL_free};
    const std::unique_ptr<ASN1_TIME, decltype(&ASN1_TIME_free)> now{X509_gmtime_adj(nullptr, 0),
                                                                    ASN1_TIME_free};
    const std::unique_ptr<ASN1_TIME, decltype(&ASN1_TIME_free)> later{
        X509_gmtime_adj(nullptr, 3600), ASN1_TIME_free};
    X509_CRL_set_version(list.get(), X509_CRL_VERSION_2);
    X509_CRL_set_issuer_name(list.get(), X509_get_subject_name(certificate_in(file).get()));
    X509_CRL_set1_lastUpdate(list.get(), now.get());
    X509_CRL_set1_nextUpdate(list.get(), later.get());
    for (const Certificate* const one : revoked) {
        const Signed certificate = certificate_in(one->file);
        X509_REVOKED* const entry = X509_REVOKED_new();
        X509_REVOKED_set_serialNumber(entry, X509_get_serialNumber(certificate.get()));
        X509_REVOKED_set_revocationDate(entry, now.get());
        require_openssl(X509_CRL_add0_revoked(list.get(), entry) == 1);
    }
    X509_CRL_sort(list.get());
    require_openssl(X509_CRL_sign(list.get(), key_in(key).get(), EVP_sha256()) > 0);
    const std::string path = file + ".crl";
    write(path, [&](std::FILE* to) { return PEM_write_X509_CRL(to, list.get()); });
    return path;
}

}  // namespace leasehold::testing
