#include "server/certificates.hpp"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <memory>
#include <stdexcept>

namespace leasehold::testing {
namespace {

void require_openssl(bool done) {
    if (!done) throw std::runtime_error{"a certificate cannot be made"};
}

template <class Write>
void write(const std::string& path, Write content) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{std::fopen(path.c_str(), "w"),
                                                               std::fclose};
    require_openssl(file != nullptr && content(file.get()) == 1);
    std::filesystem::permissions(
        path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

void name(X509* certificate, const std::string& names) {
    const std::unique_ptr<X509_EXTENSION, decltype(&X509_EXTENSION_free)> extension{
        X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, names.c_str()),
        X509_EXTENSION_free};
    require_openssl(extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1);
}

}  // namespace

Certificate::Certificate(const std::filesystem::path& folder, const std::string& title,
                         const std::string& names)
    : file{folder / (title + ".pem")}, key{folder / (title + ".key")} {
    const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> pair{EVP_EC_gen("P-256"),
                                                                   EVP_PKEY_free};
    const std::unique_ptr<X509, decltype(&X509_free)> certificate{X509_new(), X509_free};
    require_openssl(pair != nullptr && certificate != nullptr);
    X509_set_version(certificate.get(), X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -60);
    X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 24L * 60 * 60);
    X509_set_pubkey(certificate.get(), pair.get());
    X509_NAME* const subject = X509_get_subject_name(certificate.get());
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(title.c_str()), -1, -1, 0);
    X509_set_issuer_name(certificate.get(), subject);
    name(certificate.get(), names);
    require_openssl(X509_sign(certificate.get(), pair.get(), EVP_sha256()) > 0);
    write(file, [&](std::FILE* to) { return PEM_write_X509(to, certificate.get()); });
    write(key, [&](std::FILE* to) {
        return PEM_write_PrivateKey(to, pair.get(), nullptr, nullptr, 0, nullptr, nullptr);
    });
}

}  // namespace leasehold::testing
