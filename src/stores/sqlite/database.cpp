#include "stores/sqlite/database.hpp"

#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "core/secret_file.hpp"

namespace leasehold::sqlite {

namespace {

// The beginning of a statement, on one line, for error messages.
std::string in_short(std::string_view sql) {
    constexpr std::size_t longest = 60;
    sql.remove_prefix(std::min(sql.find_first_not_of('\n'), sql.size()));
    sql = sql.substr(0, std::min({sql.find(" ("), sql.find('\n'), sql.size()}));
    if (sql.size() <= longest) return std::string{sql};
    return std::string{sql.substr(0, sql.rfind(' ', longest))} + " ...";
}

}  // namespace

void fail(::sqlite3* db, StoreFault::Effect effect, std::string_view doing) {
    if (sqlite3_errcode(db) == SQLITE_NOTADB) {
        throw StoreFault{effect, StoreFault::Cause::configuration,
                         "sqlite: " + std::string{sqlite3_db_filename(db, "main")} +
                             " is not an SQLite database, or is encrypted: name another file"};
    }
    throw StoreFault{effect, StoreFault::Cause::unavailable,
                     "sqlite: " + in_short(doing) + ": " + sqlite3_errmsg(db)};
}

void Close::operator()(::sqlite3* db) const noexcept {
    sqlite3_close_v2(db);
}

void Statement::Finalize::operator()(::sqlite3_stmt* statement) const noexcept {
    sqlite3_finalize(statement);
}

namespace {

// A new file is private, because it holds lock ids. The files that SQLite puts beside it get the
// same mode. An existing file keeps its mode.
void make_private(const std::string& path) {
    create_private_file(path);
    struct stat about{};
    if (::stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode)) {
        throw BadRequest{"sqlite: \"" + path + "\" is not a regular file"};
    }
}

// SQLite's own message does not name the reason.
std::string why_not_opened(::sqlite3* db) {
    if (db == nullptr) return "out of memory";
    const int error = sqlite3_system_errno(db);
    return error == 0 ? sqlite3_errmsg(db) : std::generic_category().message(error);
}

// SQLite may read a name that begins with "file:" as a URI, whose parameters can switch off its
// locking. One that begins with a colon, and the empty name, mean a database that nobody shares.
void require_file(const std::string& path) {
    if (path.empty()) throw BadRequest{"sqlite: takes the path of a file"};
    if (path == ":memory:") {
        throw BadRequest{
            "sqlite: a database in memory is shared with nobody, so it locks nothing; use the "
            "memory store"};
    }
    if (path.front() == ':' || path.starts_with("file:") || path.starts_with("sqlite:")) {
        throw BadRequest{"sqlite: \"" + path + "\" may be a URL: name the file by its path, \"./" +
                         path + "\" if it is called like that"};
    }
}

}  // namespace

Database open_database(const std::string& path) {
    require_file(path);
    make_private(path);
    auto log = std::make_unique<GatheredLog>();
    ::sqlite3* raw = nullptr;
    const int code =
        log->open(path, &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX);
    Database db{raw, Close{std::move(log)}};
    if (code != SQLITE_OK) {
        throw StoreFault{
            StoreFault::Effect::none, StoreFault::Cause::configuration,
            "sqlite: cannot open " + path + ": " + why_not_opened(raw) +
                "; the folder must exist, and this user must be allowed to write to both"};
    }
    return db;
}

void execute(::sqlite3* db, const char* sql) {
    if (sqlite3_exec(db, sql, nullptr, nullptr, nullptr) != SQLITE_OK) {
        fail(db, StoreFault::Effect::none, sql);
    }
}

::sqlite3_stmt* Statement::prepared() {
    if (!statement_) {
        ::sqlite3_stmt* raw = nullptr;
        if (sqlite3_prepare_v3(db_, sql_.data(), static_cast<int>(sql_.size()),
                               SQLITE_PREPARE_PERSISTENT, &raw, nullptr) != SQLITE_OK) {
            fail(db_, StoreFault::Effect::none, sql_);
        }
        statement_.reset(raw);
    }
    return statement_.get();
}

Statement& Statement::bind(int index, std::int64_t value) {
    sqlite3_bind_int64(prepared(), index, value);
    return *this;
}

Statement& Statement::bind(int index, std::string_view text) {
    sqlite3_bind_text(prepared(), index, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
    return *this;
}

Statement& Statement::bind_copy(int index, std::string_view text) {
    sqlite3_bind_text(prepared(), index, text.data(), static_cast<int>(text.size()),
                      SQLITE_TRANSIENT);
    return *this;
}

int Statement::step_code() {
    return sqlite3_step(prepared());
}

bool Statement::step() {
    switch (step_code()) {
        case SQLITE_ROW: return true;
        case SQLITE_DONE: return false;
        default: fail(db_, StoreFault::Effect::none, sql_);
    }
}

void Statement::run() {
    const Resetting at_end{*this};
    while (step()) {
    }
}

void Statement::reset() noexcept {
    sqlite3_reset(statement_.get());
}

std::int64_t Statement::integer(int column) const {
    return sqlite3_column_int64(statement_.get(), column);
}

std::string Statement::text(int column) const {
    const auto* bytes = sqlite3_column_text(statement_.get(), column);
    if (bytes == nullptr) return {};
    return {reinterpret_cast<const char*>(bytes),
            static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

}  // namespace leasehold::sqlite
