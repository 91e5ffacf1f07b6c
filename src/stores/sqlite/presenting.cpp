#include "stores/sqlite/presenting.hpp"

#include <sqlite3.h>

#include <memory>
#include <new>
#include <string>

#include "stores/sqlite/database.hpp"

namespace leasehold::sqlite {
namespace {

// SQLite calls these functions; none of them may throw.
namespace presented_table {

struct Table : sqlite3_vtab {
    explicit Table(::sqlite3* connection) : sqlite3_vtab{}, db{connection} {}
    ::sqlite3* db;
};

int connect(::sqlite3* db, void* /*aux*/, int /*argc*/, const char* const* /*argv*/,
            sqlite3_vtab** table, char** /*error*/) {
    const int code = sqlite3_declare_vtab(db, "create table presented (lockid text)");
    if (code != SQLITE_OK) return code;
    *table = new (std::nothrow) Table{db};
    return *table == nullptr ? SQLITE_NOMEM : SQLITE_OK;
}

int disconnect(sqlite3_vtab* table) {
    delete static_cast<Table*>(table);
    return SQLITE_OK;
}

// It reads as empty.
int best_index(sqlite3_vtab* /*table*/, sqlite3_index_info* /*info*/) {
    return SQLITE_OK;
}
int open_cursor(sqlite3_vtab* /*table*/, sqlite3_vtab_cursor** cursor) {
    *cursor = new (std::nothrow) sqlite3_vtab_cursor{};
    return *cursor == nullptr ? SQLITE_NOMEM : SQLITE_OK;
}
int close_cursor(sqlite3_vtab_cursor* cursor) {
    delete cursor;
    return SQLITE_OK;
}
int filter(sqlite3_vtab_cursor* /*cursor*/, int /*number*/, const char* /*name*/, int /*argc*/,
           sqlite3_value** /*argv*/) {
    return SQLITE_OK;
}
int next(sqlite3_vtab_cursor* /*cursor*/) {
    return SQLITE_OK;
}
int is_at_end(sqlite3_vtab_cursor* /*cursor*/) {
    return 1;
}
int column(sqlite3_vtab_cursor* /*cursor*/, sqlite3_context* /*context*/, int /*index*/) {
    return SQLITE_OK;
}
int rowid(sqlite3_vtab_cursor* /*cursor*/, sqlite3_int64* row) {
    *row = 0;
    return SQLITE_OK;
}

int insert(sqlite3_vtab* table, int argc, sqlite3_value** argv, sqlite3_int64* row) {
    constexpr int arguments_of_an_insert = 3;
    if (argc != arguments_of_an_insert || sqlite3_value_type(argv[0]) != SQLITE_NULL) {
        return SQLITE_READONLY;
    }
    *row = 0;
    sqlite3_stmt* statement = nullptr;
    int code = sqlite3_prepare_v2(static_cast<Table*>(table)->db,
                                  "insert or ignore into main.lock_presented values (?1)", -1,
                                  &statement, nullptr);
    if (code == SQLITE_OK) {
        sqlite3_bind_value(statement, 1, argv[2]);
        sqlite3_step(statement);
        code = sqlite3_finalize(statement);
    }
    return code;
}

int begin(sqlite3_vtab* /*table*/) {
    return SQLITE_OK;
}
// The first step of a commit: its writes are committed, too.
int before_commit(sqlite3_vtab* table) {
    return sqlite3_exec(static_cast<Table*>(table)->db, "delete from main.lock_presented", nullptr,
                        nullptr, nullptr);
}
int after_end(sqlite3_vtab* /*table*/) {
    return SQLITE_OK;
}

// Without xCreate there is one such table on each connection, and no SQL makes another.
constexpr sqlite3_module module = [] {
    sqlite3_module functions{};
    functions.iVersion = 1;
    functions.xConnect = connect;
    functions.xBestIndex = best_index;
    functions.xDisconnect = disconnect;
    functions.xOpen = open_cursor;
    functions.xClose = close_cursor;
    functions.xFilter = filter;
    functions.xNext = next;
    functions.xEof = is_at_end;
    functions.xColumn = column;
    functions.xRowid = rowid;
    functions.xUpdate = insert;
    functions.xBegin = begin;
    functions.xSync = before_commit;
    functions.xCommit = after_end;
    functions.xRollback = after_end;
    return functions;
}();

}  // namespace presented_table

bool has_presented_table(::sqlite3* db) {
    Statement known{db, "select 1 from pragma_module_list where name = 'leasehold_presented'"};
    return known.step();
}

}  // namespace

void present(::sqlite3* db, LockId lock_id) {
    Statement is_protected{db, "select 1 from leasehold where name = 'protected' and value > 0"};
    if (!is_protected.step()) return;
    is_protected.reset();
    if (!has_presented_table(db) &&
        sqlite3_create_module_v2(db, "leasehold_presented", &presented_table::module, nullptr,
                                 nullptr) != SQLITE_OK) {
        fail(db, StoreFault::Effect::none, "create module");
    }
    const std::string text = lock_id.to_string();
    Statement insert{db, "insert into leasehold_presented values (?1)"};
    insert.bind(1, text).run();
}

}  // namespace leasehold::sqlite
