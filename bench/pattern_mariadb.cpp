// The pattern as its texts write it, on MySQL or MariaDB: a connection for each thread, and for
// each operation a transaction that first looks and then acts.
#include <leasehold/lock_id.hpp>

#include <vector>

#include "contender.hpp"
#include "cycle.hpp"
#include "mariadb_client.hpp"

namespace leasehold::bench {
namespace {

class MariadbPatternClient {
public:
    MariadbPatternClient(std::uint16_t port, const std::string& database)
        : client_{port, database} {}

    void try_lock(std::string_view id, std::string_view lock_id) {
        in_transaction([&] {
            const auto found = find_by_key_.find({cycle_type, id});
            expect(!found || *found == "expired", "try");
            if (found) delete_by_key_.run({cycle_type, id});
            expect(insert_.run({cycle_type, id, lock_id}) == 1, "try");
        });
    }

    void check(std::string_view lock_id) {
        in_transaction([&] { expect(find_by_lock_id_.find({lock_id}) == "held", "check"); });
    }

    void extend(std::string_view lock_id) {
        in_transaction([&] {
            expect(find_by_lock_id_.find({lock_id}) == "held", "extend");
            expect(update_.run({lock_id}) == 1, "extend");
        });
    }

    void release(std::string_view lock_id) {
        in_transaction([&] {
            expect(find_by_lock_id_.find({lock_id}) == "held", "release");
            expect(delete_by_lock_id_.run({lock_id}) == 1, "release");
        });
    }

private:
    // Once more after a deadlock, as a caller of the pattern has to.
    template <class Operation>
    void in_transaction(Operation operation) {
        for (;;) {
            client_.execute("begin");
            try {
                operation();
                client_.execute("commit");
                return;
            } catch (const Deadlock&) {
            }
        }
    }

    MariadbClient client_;
    MariadbStatement find_by_key_ = client_.prepare(R"(
select if(expiration_time > now(6), 'held', 'expired') from pattern_locks where type = ? and id = ?)");
    MariadbStatement find_by_lock_id_ = client_.prepare(R"(
select if(expiration_time > now(6), 'held', 'expired') from pattern_locks where lockid = ?)");
    MariadbStatement insert_ = client_.prepare(R"(
insert into pattern_locks (type, id, lockid, expiration_time)
values (?, ?, ?, now(6) + interval 300 second))");
    MariadbStatement update_ = client_.prepare(R"(
update pattern_locks set expiration_time = expiration_time + interval 60 second where lockid = ?)");
    MariadbStatement delete_by_key_ =
        client_.prepare("delete from pattern_locks where type = ? and id = ?");
    MariadbStatement delete_by_lock_id_ =
        client_.prepare("delete from pattern_locks where lockid = ?");
};

class MariadbPattern final : public Contender {
public:
    MariadbPattern(std::uint16_t port, const std::string& database, std::size_t threads) {
        MariadbClient{port, database}.execute(R"(
create table pattern_locks (
    type varchar(128), id varchar(512), lockid char(36) not null,
    expiration_time datetime(6) not null, primary key (type, id), unique key (lockid)
) engine = InnoDB character set utf8mb4 collate utf8mb4_bin)");
        clients_.reserve(threads);
        for (std::size_t i = 0; i < threads; ++i) clients_.emplace_back(port, database);
    }

    void run_cycles(std::size_t thread, const std::atomic<bool>& stop,
                    std::atomic<std::uint64_t>& cycles) override {
        MariadbPatternClient& client = clients_.at(thread);
        count_cycles(thread, stop, cycles, [&](const std::string& id) {
            const std::string lock_id = LockId::random().to_string();
            client.try_lock(id, lock_id);
            client.check(lock_id);
            client.extend(lock_id);
            client.release(lock_id);
        });
    }

private:
    std::vector<MariadbPatternClient> clients_;  // one for each thread
};

}  // namespace

std::unique_ptr<Contender> make_pattern_mariadb(std::uint16_t port, const std::string& database,
                                                std::size_t threads) {
    return std::make_unique<MariadbPattern>(port, database, threads);
}

}  // namespace leasehold::bench
