#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "core/cell_store.hpp"
#include "stores/sqlite/database.hpp"

namespace leasehold::sqlite {

// Reads and writes the rows of Leasehold's tables on one connection.
class Rows {
public:
    explicit Rows(::sqlite3* db);

    [[nodiscard]] std::optional<LockRow> find(const LockKey& key);
    [[nodiscard]] std::vector<Grant> shares(const LockKey& key);
    [[nodiscard]] std::optional<Ended> find_past(LockId lock_id);
    [[nodiscard]] std::optional<LockKey> locate(LockId lock_id);
    [[nodiscard]] std::vector<LockKey> keys_of(const std::string& owner, OwnerScope scope);
    [[nodiscard]] std::vector<std::pair<LockKey, Time>> scan(const std::optional<LockKey>& after,
                                                             std::size_t limit);
    [[nodiscard]] std::vector<Holder> list(const List& request, Time now);
    [[nodiscard]] std::vector<PastLease> history(const History& request, Time oldest);
    [[nodiscard]] Time time_floor();

    void write(const Slot& slot);
    void erase(const Slot& slot);
    void add_to_history(const Ended& ended);
    void raise_floor(Time floor);
    std::size_t forget_history(Time before, std::size_t limit);

private:
    void write_shares(const Slot& slot);

    ::sqlite3* db_;
    Statement find_, shares_, past_, locate_, owner_, owner_below_, scan_, floor_;
    Statement insert_, update_, touch_, erase_, write_share_, erase_share_, add_history_,
        raise_floor_, forget_history_;
};

}  // namespace leasehold::sqlite
