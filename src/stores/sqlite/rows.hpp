#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "core/cell_store.hpp"
#include "stores/sqlite/database.hpp"

namespace leasehold::sqlite {

// A key's row, as it is in the file.
struct Known {
    LockRow row{};
    std::vector<Grant> shares{};
    std::int64_t rowid = 0;  // 0: there is no row
    std::int64_t past = 0;   // the key's latest row in lock_history
};

// Reads and writes the rows of Leasehold's tables on one connection. Rows of other programs are
// skipped if their keys are not valid.
class Rows {
public:
    // `version` is the version of the schema that this process knows.
    Rows(::sqlite3* db, std::size_t version);

    [[nodiscard]] Known find(const LockKey& key);
    [[nodiscard]] std::optional<Ended> find_past(LockId lock_id);
    [[nodiscard]] std::optional<LockKey> locate(LockId lock_id);
    [[nodiscard]] OwnedKeys keys_of(const std::string& owner, OwnerScope scope, std::size_t most);
    [[nodiscard]] std::vector<std::pair<LockKey, Time>> scan(const std::optional<LockKey>& after,
                                                             std::size_t limit);
    [[nodiscard]] std::optional<KeyPlace> place_behind(const KeyPlace& place, std::size_t rows);
    [[nodiscard]] std::vector<Holder> list(const List& request, Time now, const KeyPlace& until);
    [[nodiscard]] std::vector<PastLease> history(const History& request);

    // While a snapshot exists, all reads see one state of the file, also outside a transaction.
    // Throws StoreFault if the tables have another version than this process knows.
    struct Snapshot {
        Resetting open;
        Time floor;  // no time below this is used again
    };
    [[nodiscard]] Snapshot snapshot();

    // `known` is the slot's row in the file. The function updates it to the written row.
    void write(const Slot& slot, Known& known);
    void erase(const Slot& slot, Known& known);
    void add_to_history(const Ended& ended, Known& known);
    void raise_floor(Time floor);
    std::size_t forget_history(Time before, std::size_t limit);

private:
    [[nodiscard]] std::vector<Grant> shares(const LockKey& key);
    [[nodiscard]] std::vector<PastLease> history_of(const LockKey& key, const History& request);
    void write_shares(const Slot& slot);
    [[nodiscard]] Time read_floor();

    ::sqlite3* db_;
    std::size_t version_;
    Statement find_, shares_, past_, past_row_, locate_, owner_, owner_below_, scan_, place_,
        floor_;
    Statement insert_, update_, touch_, erase_, write_share_, erase_share_, add_history_,
        raise_floor_, forget_history_;
};

}  // namespace leasehold::sqlite
