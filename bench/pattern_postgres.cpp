// The pattern as its texts write it, on PostgreSQL: a connection for each thread, and for each
// operation a transaction that first looks and then acts.
#include <leasehold/lock_id.hpp>

#include <vector>

#include "contender.hpp"
#include "cycle.hpp"
#include "postgres_client.hpp"

namespace leasehold::bench {
namespace {

class PostgresPatternClient {
public:
    explicit PostgresPatternClient(const std::string& url) : client_{url} {
        client_.prepare("begin", "begin");
        client_.prepare("commit", "commit");
        client_.prepare("find by key", R"(
select case when expiration_time > now() then 'held' else 'expired' end
from pattern_locks where type = $1 and id = $2)");
        client_.prepare("find by lock id", R"(
select case when expiration_time > now() then 'held' else 'expired' end
from pattern_locks where lockid = $1)");
        client_.prepare("insert", R"(
insert into pattern_locks (type, id, lockid, expiration_time)
values ($1, $2, $3, now() + interval '300 s'))");
        client_.prepare("update", R"(
update pattern_locks set expiration_time = expiration_time + interval '60 s' where lockid = $1)");
        client_.prepare("delete by key", "delete from pattern_locks where type = $1 and id = $2");
        client_.prepare("delete by lock id", "delete from pattern_locks where lockid = $1");
    }

    void try_lock(const char* id, const char* lock_id) {
        client_.run("begin");
        const auto found = client_.find("find by key", {cycle_type, id});
        expect(!found || *found == "expired", "try");
        if (found) client_.run("delete by key", {cycle_type, id});
        expect(client_.run("insert", {cycle_type, id, lock_id}) == 1, "try");
        client_.run("commit");
    }

    void check(const char* lock_id) {
        client_.run("begin");
        expect(client_.find("find by lock id", {lock_id}) == "held", "check");
        client_.run("commit");
    }

    void extend(const char* lock_id) {
        client_.run("begin");
        expect(client_.find("find by lock id", {lock_id}) == "held", "extend");
        expect(client_.run("update", {lock_id}) == 1, "extend");
        client_.run("commit");
    }

    void release(const char* lock_id) {
        client_.run("begin");
        expect(client_.find("find by lock id", {lock_id}) == "held", "release");
        expect(client_.run("delete by lock id", {lock_id}) == 1, "release");
        client_.run("commit");
    }

private:
    PostgresClient client_;
};

class PostgresPattern final : public Contender {
public:
    PostgresPattern(const std::string& url, std::size_t threads) {
        PostgresClient{url}.execute(R"(
create table pattern_locks (
    type varchar(128), id varchar(512), lockid varchar(36) not null,
    expiration_time timestamptz not null, primary key (type, id));
create unique index on pattern_locks (lockid))");
        clients_.reserve(threads);
        for (std::size_t i = 0; i < threads; ++i) clients_.emplace_back(url);
    }

    void run_cycles(std::size_t thread, const std::atomic<bool>& stop,
                    std::atomic<std::uint64_t>& cycles) override {
        PostgresPatternClient& client = clients_.at(thread);
        count_cycles(thread, stop, cycles, [&](const std::string& id) {
            const std::string lock_id = LockId::random().to_string();
            client.try_lock(id.c_str(), lock_id.c_str());
            client.check(lock_id.c_str());
            client.extend(lock_id.c_str());
            client.release(lock_id.c_str());
        });
    }

private:
    std::vector<PostgresPatternClient> clients_;  // one for each thread
};

}  // namespace

std::unique_ptr<Contender> make_pattern_postgres(const std::string& url, std::size_t threads) {
    return std::make_unique<PostgresPattern>(url, threads);
}

}  // namespace leasehold::bench
