// MariaDB and MySQL with TLS, where the client verifies the certificate.
#include <filesystem>

#include "faults/databases.hpp"
#include "server/certificates.hpp"

namespace leasehold::faults {
namespace {

using testing::Certificate;

class MariadbTls : public ::testing::TestWithParam<On<Server>> {
protected:
    // Makes the server use this certificate from now on.
    void show(const Certificate& certificate) const {
        namespace fs = std::filesystem;
        fs::copy_file(certificate.file, file("shown.pem"), fs::copy_options::overwrite_existing);
        fs::copy_file(certificate.key, file("shown.key"), fs::copy_options::overwrite_existing);
        for (const char* name : {"shown.pem", "shown.key"}) {
            fs::permissions(file(name), fs::perms::others_read, fs::perm_options::add);
        }
    }
    [[nodiscard]] std::string file(const std::string& name) const {
        return (folder_.path() / name).string();
    }
    [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }
    [[nodiscard]] std::vector<std::string> settings() const {
        return {"--ssl-cert=" + file("shown.pem"), "--ssl-key=" + file("shown.key")};
    }

private:
    testing::TemporaryFolder folder_;
};
INSTANTIATE_TEST_SUITE_P(, MariadbTls, ::testing::Values(on_mysql(), on_mariadb()), by_store());

std::string said_about(const std::string& url) {
    try {
        LockManager locks{open_store(url)};
        return locks.try_lock({"Order", "1"}, {.owner = "alice"}) ? "granted" : "refused";
    } catch (const StoreFault& fault) {
        EXPECT_EQ(fault.cause(), Cause::configuration) << fault.what();
        EXPECT_EQ(fault.effect(), Effect::none) << fault.what();
        return fault.what();
    }
}

TEST_P(MariadbTls, IsSpokenOnlyWithTheServerThatTheCertificateNames) {
    const Certificate right{folder(), "right", "IP:127.0.0.1"};
    const Certificate stranger{folder(), "stranger", "IP:127.0.0.1"};
    const Certificate other_name{folder(), "other", "DNS:db.example"};
    show(right);
    const auto server = GetParam().make({.settings = settings()});
    const auto with = [&](const std::string& authority) {
        return said_about(server->url("locks") + "?tls=verify-full" +
                          (authority.empty() ? "" : "&ca_file=" + authority));
    };
    EXPECT_EQ(with(right.file), "granted");
    EXPECT_NE(with(stranger.file), "granted");
    EXPECT_NE(with(""), "granted") << "the system's authorities did not sign this certificate";
    EXPECT_NE(with("/nowhere.pem"), "granted");

    server->kill();
    show(other_name);
    server->start();
    EXPECT_NE(with(other_name.file), "granted");
}

TEST_P(MariadbTls, IsNotGivenUpIfTheServerHasNone) {
    const std::string url = GetParam().database().url("locks") + "?tls=verify-full";
    EXPECT_NE(said_about(url), "granted");
}

}  // namespace
}  // namespace leasehold::faults
