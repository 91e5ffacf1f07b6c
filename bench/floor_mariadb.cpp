// The floor under the MariaDB store: for each operation one prepared statement that commits by
// itself.
#include <leasehold/lock_id.hpp>

#include "contender.hpp"
#include "cycle.hpp"
#include "mariadb_client.hpp"

namespace leasehold::bench {
namespace {

class MariadbFloor final : public Contender {
public:
    MariadbFloor(std::uint16_t port, const std::string& database) : client_{port, database} {}

    void run_cycles(std::size_t thread, const std::atomic<bool>& stop,
                    std::atomic<std::uint64_t>& cycles) override {
        count_cycles(thread, stop, cycles, [this](const std::string& id) {
            const std::string lock_id = LockId::random().to_string();
            // An expired row that is taken over counts twice, one that is held not at all.
            expect(try_.run({cycle_type, id, lock_id}) > 0, "try");
            expect(check_.run({cycle_type, id, lock_id}) == 1, "check");
            expect(extend_.run({cycle_type, id, lock_id}) == 1, "extend");
            expect(release_.run({cycle_type, id, lock_id}) == 1, "release");
        });
    }

private:
    MariadbClient& with_table() {
        client_.execute(R"(
create table floor_locks (
    type varchar(128), id varchar(512), lockid char(36) not null, expires datetime(6) not null,
    primary key (type, id)
) engine = InnoDB character set utf8mb4 collate utf8mb4_bin)");
        return client_;
    }

    MariadbClient client_;
    MariadbStatement try_ = with_table().prepare(R"(
insert into floor_locks values (?, ?, ?, now(6) + interval 300 second)
on duplicate key update lockid = if(expires < now(6), values(lockid), lockid),
                        expires = if(expires < now(6), values(expires), expires))");
    MariadbStatement check_ = client_.prepare(R"(
select expires from floor_locks
where type = ? and id = ? and lockid = ? and expires > now(6))");
    MariadbStatement extend_ = client_.prepare(R"(
update floor_locks set expires = expires + interval 60 second
where type = ? and id = ? and lockid = ? and expires > now(6))");
    MariadbStatement release_ =
        client_.prepare("delete from floor_locks where type = ? and id = ? and lockid = ?");
};

}  // namespace

std::unique_ptr<Contender> make_floor_mariadb(std::uint16_t port, const std::string& database) {
    return std::make_unique<MariadbFloor>(port, database);
}

}  // namespace leasehold::bench
