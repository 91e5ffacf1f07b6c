#pragma once

#include <memory>
#include <string>

struct sqlite3;
struct sqlite3_vfs;

namespace leasehold::sqlite {

// SQLite's default VFS with one difference: writes to the log are gathered, and reach the file as
// one write when the log is flushed or used otherwise. SQLite alone writes each page to the log
// with two calls.
//
// Only for a connection with synchronous=FULL and cache_spill=off, which writes to the log only
// when it commits, and flushes the log before another connection can see the commit. Must outlive
// that connection.
class GatheredLog {
public:
    GatheredLog();
    ~GatheredLog();
    GatheredLog(const GatheredLog&) = delete;
    GatheredLog& operator=(const GatheredLog&) = delete;

    // sqlite3_open_v2(). The application's default VFS stays the default.
    int open(const std::string& path, ::sqlite3** db, int flags);

private:
    std::string name_;
    const std::unique_ptr<::sqlite3_vfs> vfs_;
};

}  // namespace leasehold::sqlite
