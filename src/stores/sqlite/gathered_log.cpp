#include "stores/sqlite/gathered_log.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

#include <leasehold/errors.hpp>

namespace leasehold::sqlite {
namespace {

// The size of the largest page: SQLite's VFS does not write more with one call.
constexpr int largest_write = 64 * 1024;

// Placed before the underlying file in the memory that SQLite allocates.
struct Log : sqlite3_file {
    std::unique_ptr<char[]> gathered;
    int capacity = 0;          // 0: nothing is gathered
    int size = 0;              // of the gathered bytes
    sqlite3_int64 offset = 0;  // of the gathered bytes in the file
};

Log& log_of(sqlite3_file* file) {
    return *static_cast<Log*>(file);
}

sqlite3_file* below(sqlite3_file* file) {
    return reinterpret_cast<sqlite3_file*>(&log_of(file) + 1);
}

// A failed write is never repeated: SQLite gives up the commit, and the next writer, perhaps of
// another process, uses that place in the file.
int write_gathered(Log& log) {
    const int size = std::exchange(log.size, 0);
    if (size == 0) return SQLITE_OK;
    return below(&log)->pMethods->xWrite(below(&log), log.gathered.get(), size, log.offset);
}

int gather(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset) {
    Log& log = log_of(file);
    if (offset != log.offset + log.size || size > log.capacity - log.size) {
        if (const int code = write_gathered(log); code != SQLITE_OK) return code;
        if (size > log.capacity) {
            return below(file)->pMethods->xWrite(below(file), bytes, size, offset);
        }
        log.offset = offset;
    }
    std::memcpy(log.gathered.get() + log.size, bytes, static_cast<std::size_t>(size));
    log.size += size;
    return SQLITE_OK;
}

int close(sqlite3_file* file) {
    const int code = below(file)->pMethods->xClose(below(file));
    log_of(file).~Log();
    return code;
}

// All other functions of the log call the underlying file.
template <auto member>
struct AskLog;
template <class... Arguments, int (*sqlite3_io_methods::*member)(sqlite3_file*, Arguments...)>
struct AskLog<member> {
    static int call(sqlite3_file* file, Arguments... arguments) {
        if (const int code = write_gathered(log_of(file)); code != SQLITE_OK) return code;
        return (below(file)->pMethods->*member)(below(file), arguments...);
    }
};

using Methods = sqlite3_io_methods;
constexpr Methods methods{
    .iVersion = 1,
    .xClose = close,
    .xRead = AskLog<&Methods::xRead>::call,
    .xWrite = gather,
    .xTruncate = AskLog<&Methods::xTruncate>::call,
    .xSync = AskLog<&Methods::xSync>::call,
    .xFileSize = AskLog<&Methods::xFileSize>::call,
    .xLock = AskLog<&Methods::xLock>::call,
    .xUnlock = AskLog<&Methods::xUnlock>::call,
    .xCheckReservedLock = AskLog<&Methods::xCheckReservedLock>::call,
    .xFileControl = AskLog<&Methods::xFileControl>::call,
    .xSectorSize =
        [](sqlite3_file* file) { return below(file)->pMethods->xSectorSize(below(file)); },
    .xDeviceCharacteristics =
        [](sqlite3_file* file) {
            return below(file)->pMethods->xDeviceCharacteristics(below(file));
        },
    .xShmMap = nullptr,
    .xShmLock = nullptr,
    .xShmBarrier = nullptr,
    .xShmUnmap = nullptr,
    .xFetch = nullptr,
    .xUnfetch = nullptr};

sqlite3_vfs* below(sqlite3_vfs* vfs) {
    return static_cast<sqlite3_vfs*>(vfs->pAppData);
}

// If the disk does not promise this for the database, SQLite fills the sector of a commit with more
// pages, and flushes the log before it has written the last of them.
bool flush_comes_last(const char* log_name) {
    sqlite3_file* const database = sqlite3_database_file_object(log_name);
    const int promises = database->pMethods->xDeviceCharacteristics(database);
    return (promises & SQLITE_IOCAP_POWERSAFE_OVERWRITE) != 0;
}

int open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out) {
    const bool is_log = (flags & SQLITE_OPEN_WAL) != 0;
    if (!is_log) return below(vfs)->xOpen(below(vfs), name, file, flags, out);
    auto* const log = new (file) Log{};
    const int code = below(vfs)->xOpen(below(vfs), name, below(file), flags, out);
    if (below(file)->pMethods == nullptr) return code;
    log->pMethods = &methods;  // so that it is closed even if it could not be opened
    if (code != SQLITE_OK || !flush_comes_last(name)) return code;
    log->gathered.reset(new (std::nothrow) char[largest_write]);
    if (log->gathered) log->capacity = largest_write;
    return SQLITE_OK;
}

template <auto member>
struct Ask;
template <class Result, class... Arguments,
          Result (*sqlite3_vfs::*member)(sqlite3_vfs*, Arguments...)>
struct Ask<member> {
    static Result call(sqlite3_vfs* vfs, Arguments... arguments) {
        return (below(vfs)->*member)(below(vfs), arguments...);
    }
};

}  // namespace

GatheredLog::GatheredLog() : vfs_{std::make_unique<sqlite3_vfs>()} {
    sqlite3_vfs* const standard = sqlite3_vfs_find(nullptr);
    if (standard == nullptr) {
        throw StoreFault{StoreFault::Effect::none, StoreFault::Cause::configuration,
                         "sqlite: SQLite has no default VFS"};
    }
    name_ = "leasehold-" + std::to_string(reinterpret_cast<std::uintptr_t>(this));
    using Vfs = sqlite3_vfs;
    *vfs_ = {.iVersion = std::min(standard->iVersion, 2),
             .szOsFile = static_cast<int>(sizeof(Log)) + standard->szOsFile,
             .mxPathname = standard->mxPathname,
             .pNext = nullptr,
             .zName = name_.c_str(),
             .pAppData = standard,
             .xOpen = sqlite::open,
             .xDelete = Ask<&Vfs::xDelete>::call,
             .xAccess = Ask<&Vfs::xAccess>::call,
             .xFullPathname = Ask<&Vfs::xFullPathname>::call,
             .xDlOpen = Ask<&Vfs::xDlOpen>::call,
             .xDlError = Ask<&Vfs::xDlError>::call,
             .xDlSym = Ask<&Vfs::xDlSym>::call,
             .xDlClose = Ask<&Vfs::xDlClose>::call,
             .xRandomness = Ask<&Vfs::xRandomness>::call,
             .xSleep = Ask<&Vfs::xSleep>::call,
             .xCurrentTime = Ask<&Vfs::xCurrentTime>::call,
             .xGetLastError =
                 standard->xGetLastError != nullptr ? Ask<&Vfs::xGetLastError>::call : nullptr,
             .xCurrentTimeInt64 = Ask<&Vfs::xCurrentTimeInt64>::call,
             .xSetSystemCall = nullptr,
             .xGetSystemCall = nullptr,
             .xNextSystemCall = nullptr};
}

GatheredLog::~GatheredLog() = default;

int GatheredLog::open(const std::string& path, ::sqlite3** db, int flags) {
    // The VFS is registered only while SQLite looks up its name. If the application unregisters its
    // default VFS, this one must not become the default.
    sqlite3_vfs_register(vfs_.get(), 0);
    const int code = sqlite3_open_v2(path.c_str(), db, flags, vfs_->zName);
    sqlite3_vfs_unregister(vfs_.get());
    return code;
}

}  // namespace leasehold::sqlite
