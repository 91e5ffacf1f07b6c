#pragma once

#include <memory>
#include <string>

struct sqlite3;
struct sqlite3_vfs;

namespace leasehold::sqlite {

// SQLite's default way to its files, but for one thing: what it writes to its log is gathered, and
// goes to the file as one write when the log is flushed or anything else is asked of it. By itself
// SQLite writes each page there with two calls.
//
// For a connection with synchronous=FULL and cache_spill=off, which writes to the log only when it
// commits, and flushes it before anybody can see the commit. Outlives that connection.
class GatheredLog {
public:
    GatheredLog();
    ~GatheredLog();
    GatheredLog(const GatheredLog&) = delete;
    GatheredLog& operator=(const GatheredLog&) = delete;

    // sqlite3_open_v2(). What is the application's default stays it.
    int open(const std::string& path, ::sqlite3** db, int flags);

private:
    std::string name_;
    const std::unique_ptr<::sqlite3_vfs> vfs_;
};

}  // namespace leasehold::sqlite
