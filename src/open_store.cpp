#include <leasehold/open_store.hpp>

#include <leasehold/stores/memory.hpp>
#ifdef LEASEHOLD_WITH_SQLITE
#include <leasehold/stores/sqlite.hpp>
#endif
#ifdef LEASEHOLD_WITH_POSTGRES
#include <leasehold/stores/postgres.hpp>
#endif
#ifdef LEASEHOLD_WITH_MARIADB
#include <leasehold/stores/mariadb.hpp>
#include <leasehold/stores/mysql.hpp>
#endif
#ifdef LEASEHOLD_WITH_ETCD
#include <leasehold/stores/etcd.hpp>
#endif

#include "server_url.hpp"
#include "store_url.hpp"

namespace leasehold {
namespace {

[[noreturn]] void refuse_scheme(const StoreUrl& url) {
    std::string known = "memory:";
#ifdef LEASEHOLD_WITH_SQLITE
    known += ", sqlite:path";
#endif
#ifdef LEASEHOLD_WITH_POSTGRES
    known += ", postgres://user@host/database";
#endif
#ifdef LEASEHOLD_WITH_MARIADB
    known += ", mysql://user@host/database, mariadb://user@host/database";
#endif
#ifdef LEASEHOLD_WITH_ETCD
    known += ", etcd://host:port,host:port/prefix";
#endif
#ifdef LEASEHOLD_WITH_HTTP
    known += ", http://host:port, https://host";
#endif
    throw BadRequest{
        (url.may_hold_a_secret() ? "no store of that kind" : "no store for '" + url.scheme + ":'") +
        "; this build has " + known};
}

#ifdef LEASEHOLD_WITH_MARIADB
mariadb::Login login_at(const StoreUrl& url) {
    return {.host = url.host(),
            .port = url.port(3306),
            .user = url.user(),
            .password = url.password(),
            .database = url.database(),
            .socket = url.parameter("socket"),
            .tls = url.verifies_tls() ? mariadb::Login::Tls::verify_full : mariadb::Login::Tls::off,
            .ca_file = url.parameter("ca_file")};
}
#endif

#ifdef LEASEHOLD_WITH_ETCD
etcd::Cluster etcd_at(const StoreUrl& url) {
    etcd::Cluster target{.endpoints = {},
                         .transport = url.flag("tls") ? etcd::Cluster::Transport::tls
                                                      : etcd::Cluster::Transport::plain,
                         .prefix = url.database(),
                         .user = url.user(),
                         .password = url.password(),
                         .ca_file = url.parameter("ca_file"),
                         .cert_file = url.parameter("cert_file"),
                         .key_file = url.parameter("key_file")};
    while (target.prefix.ends_with('/')) target.prefix.pop_back();
    if (target.prefix.empty()) target.prefix = "leasehold";
    for (auto& [host, port] : url.places(2379)) target.endpoints.push_back({host, port});
    return target;
}
#endif

}  // namespace

std::unique_ptr<Store> open_store(std::string_view text, StoreOptions options) {
    StoreUrl url = StoreUrl::parse(text, options);
    if (url.scheme == "memory") {
        if (!url.is_bare())
            throw BadRequest{"memory: takes nothing but parameters after the colon"};
        return memory::open(url.options);
    }
#ifdef LEASEHOLD_WITH_SQLITE
    if (url.scheme == "sqlite") return sqlite::open(url.path(), url.options);
#endif
#ifdef LEASEHOLD_WITH_POSTGRES
    if (url.scheme == "postgres" || url.scheme == "postgresql") {
        return postgres::open(url.without_our_options(), url.options);
    }
#endif
#ifdef LEASEHOLD_WITH_MARIADB
    if (url.scheme == "mysql") return mysql::open(login_at(url), url.options);
    if (url.scheme == "mariadb") return mariadb::open(login_at(url), url.options);
#endif
#ifdef LEASEHOLD_WITH_ETCD
    if (url.scheme == "etcd") return etcd::open(etcd_at(url), url.options);
#endif
#ifdef LEASEHOLD_WITH_HTTP
    if (url.scheme == "http" || url.scheme == "https") {
        return http::open(server_at(url), url.options);
    }
#endif
    refuse_scheme(url);
}

std::unique_ptr<TableProtection> open_protection(std::string_view text, StoreOptions options) {
    const StoreUrl url = StoreUrl::parse(text, options);
#ifdef LEASEHOLD_WITH_SQLITE
    if (url.scheme == "sqlite") return sqlite::open_protection(url.path(), url.options);
#endif
#ifdef LEASEHOLD_WITH_POSTGRES
    if (url.scheme == "postgres" || url.scheme == "postgresql") {
        return postgres::open_protection(url.without_our_options(), url.options);
    }
#endif
#ifdef LEASEHOLD_WITH_MARIADB
    if (url.scheme == "mysql") return mysql::open_protection(login_at(url), url.options);
    if (url.scheme == "mariadb") return mariadb::open_protection(login_at(url), url.options);
#endif
    throw BadRequest{
        "this store has no tables of yours to protect; name the database that holds both the "
        "leases "
        "and the table: postgres://..., sqlite:path, mysql://... or mariadb://..."};
}

}  // namespace leasehold
