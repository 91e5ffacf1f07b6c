#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "conformance/conformance.hpp"

namespace leasehold::conformance {

// A lock manager that uses the pattern's own statements.
class PatternProgram {
public:
    struct Row {
        std::string lock_id;
        bool expired = false;
    };

    PatternProgram() = default;
    PatternProgram(const PatternProgram&) = delete;
    PatternProgram& operator=(const PatternProgram&) = delete;
    virtual ~PatternProgram() = default;

    // Returns its lock id, or nothing if somebody has the lock.
    std::optional<std::string> try_lock(const LockKey& key, const std::string& lock_id,
                                        std::chrono::minutes ttl = 5min) {
        if (const auto row = find(key)) {
            if (!row->expired) return std::nullopt;
            remove(key);
        }
        insert(key, lock_id, ttl);
        return lock_id;
    }

    // Any statement without values, as in "begin".
    virtual void run(const std::string& sql) = 0;
    virtual std::optional<Row> find(const LockKey& key) = 0;
    virtual void insert(const LockKey& key, const std::string& lock_id,
                        std::chrono::minutes ttl) = 0;
    virtual void remove(const LockKey& key) = 0;
    virtual bool check(const std::string& lock_id) = 0;
    virtual void extend(const LockKey& key, std::chrono::minutes ttl) = 0;
    virtual void release(const std::string& lock_id) = 0;
    // The names of the table's first columns.
    virtual std::vector<std::string> first_columns() = 0;
    // Whether remove() has to wait for another transaction.
    virtual bool is_kept_from_removing(const LockKey& key) = 0;
};

// On the database of the harness of that name: postgres, mysql or mariadb.
[[nodiscard]] std::unique_ptr<PatternProgram> make_pattern_program(const std::string& store);

}  // namespace leasehold::conformance
