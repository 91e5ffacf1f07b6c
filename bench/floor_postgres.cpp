// The floor under the PostgreSQL store: for each operation one prepared statement that commits by
// itself.
#include <leasehold/lock_id.hpp>

#include "contender.hpp"
#include "cycle.hpp"
#include "postgres_client.hpp"

namespace leasehold::bench {
namespace {

class PostgresFloor final : public Contender {
public:
    explicit PostgresFloor(const std::string& url) : client_{url} {
        client_.execute(R"(
create table floor_locks (
    type text, id text, lockid text not null, expires timestamptz not null, primary key (type, id)))");
        client_.prepare("try", R"(
insert into floor_locks as l values ($1, $2, $3, clock_timestamp() + interval '300 s')
on conflict (type, id) do update set lockid = excluded.lockid, expires = excluded.expires
where l.expires < clock_timestamp() returning expires)");
        client_.prepare("check", R"(
select expires from floor_locks
where type = $1 and id = $2 and lockid = $3 and expires > clock_timestamp())");
        client_.prepare("extend", R"(
update floor_locks set expires = expires + interval '60 s'
where type = $1 and id = $2 and lockid = $3 and expires > clock_timestamp())");
        client_.prepare("release",
                        "delete from floor_locks where type = $1 and id = $2 and lockid = $3");
    }

    void run_cycles(std::size_t thread, const std::atomic<bool>& stop,
                    std::atomic<std::uint64_t>& cycles) override {
        count_cycles(thread, stop, cycles, [this](const std::string& id) {
            const std::string lock_id = LockId::random().to_string();
            for (const char* step : {"try", "check", "extend", "release"}) {
                expect(client_.run(step, {cycle_type, id.c_str(), lock_id.c_str()}) == 1, step);
            }
        });
    }

private:
    PostgresClient client_;
};

}  // namespace

std::unique_ptr<Contender> make_floor_postgres(const std::string& url) {
    return std::make_unique<PostgresFloor>(url);
}

}  // namespace leasehold::bench
