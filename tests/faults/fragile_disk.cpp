#include "faults/fragile_disk.hpp"

#include <sqlite3.h>

#include <fstream>
#include <new>
#include <random>

namespace leasehold::faults {

struct FragileDisk::Vfs : sqlite3_vfs {
    FragileDisk* disk;
};

// Lies in front of the real file's data in the memory that SQLite provides.
struct FragileFile : sqlite3_file {
    FragileDisk* disk;
    FragileDisk::Content* content;  // nothing for temporary files
    [[nodiscard]] sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

struct FragileCalls {
    static FragileFile& file(sqlite3_file* any) { return *static_cast<FragileFile*>(any); }
    static sqlite3_file* real(sqlite3_file* any) { return file(any).real(); }

    static int write(sqlite3_file* any, const void* bytes, int size, sqlite3_int64 offset) {
        if (auto* content = file(any).content) {
            const int code = file(any).disk->next_change(FragileDisk::What::writes);
            if (code != SQLITE_OK) return code;
            const FragileDisk::Write change{
                static_cast<std::size_t>(offset),
                {static_cast<const char*>(bytes), static_cast<std::size_t>(size)}};
            apply(content->now, change);
            content->since.push_back(change);
        }
        return real(any)->pMethods->xWrite(real(any), bytes, size, offset);
    }

    static int truncate(sqlite3_file* any, sqlite3_int64 size) {
        if (auto* content = file(any).content) {
            const int code = file(any).disk->next_change(FragileDisk::What::writes);
            if (code != SQLITE_OK) return code;
            content->now.resize(static_cast<std::size_t>(size));
        }
        return real(any)->pMethods->xTruncate(real(any), size);
    }

    static int sync(sqlite3_file* any, int flags) {
        if (auto* content = file(any).content) {
            const int code = file(any).disk->next_change(FragileDisk::What::flushes);
            if (code != SQLITE_OK) return code;
            if (file(any).disk->lies_) return SQLITE_OK;
            content->flushed = content->now;
            content->since.clear();
        }
        return real(any)->pMethods->xSync(real(any), flags);
    }

    static void apply(std::string& content, const FragileDisk::Write& change) {
        if (content.size() < change.offset + change.bytes.size())
            content.resize(change.offset + change.bytes.size());
        content.replace(change.offset, change.bytes.size(), change.bytes);
    }

    static int open(sqlite3_vfs* vfs, const char* name, sqlite3_file* any, int flags, int* out) {
        auto* disk = static_cast<FragileDisk::Vfs*>(vfs)->disk;
        auto& made = *new (any) FragileFile{};
        made.disk = disk;
        const int code = disk->real_->xOpen(disk->real_, name, made.real(), flags, out);
        if (code != SQLITE_OK) return code;
        if ((flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL)) != 0) {
            made.content = &disk->files_[std::filesystem::path{name}.filename()];
        }
        static const sqlite3_io_methods methods{
            .iVersion = 2,
            .xClose = [](sqlite3_file* f) { return real(f)->pMethods->xClose(real(f)); },
            .xRead =
                [](sqlite3_file* f, void* to, int size, sqlite3_int64 at) {
                    return real(f)->pMethods->xRead(real(f), to, size, at);
                },
            .xWrite = write,
            .xTruncate = truncate,
            .xSync = sync,
            .xFileSize =
                [](sqlite3_file* f, sqlite3_int64* size) {
                    return real(f)->pMethods->xFileSize(real(f), size);
                },
            .xLock = [](sqlite3_file* f,
                        int lock) { return real(f)->pMethods->xLock(real(f), lock); },
            .xUnlock = [](sqlite3_file* f,
                          int lock) { return real(f)->pMethods->xUnlock(real(f), lock); },
            .xCheckReservedLock =
                [](sqlite3_file* f, int* held) {
                    return real(f)->pMethods->xCheckReservedLock(real(f), held);
                },
            .xFileControl =
                [](sqlite3_file* f, int operation, void* argument) {
                    return real(f)->pMethods->xFileControl(real(f), operation, argument);
                },
            .xSectorSize = [](sqlite3_file* f) { return real(f)->pMethods->xSectorSize(real(f)); },
            .xDeviceCharacteristics =
                [](sqlite3_file* f) {
                    const bool safe =
                        file(f).disk->promise_ == FragileDisk::Promise::safe_overwrite;
                    return safe ? SQLITE_IOCAP_POWERSAFE_OVERWRITE : 0;
                },
            .xShmMap =
                [](sqlite3_file* f, int page, int size, int extend, void volatile** at) {
                    return real(f)->pMethods->xShmMap(real(f), page, size, extend, at);
                },
            .xShmLock =
                [](sqlite3_file* f, int offset, int count, int how) {
                    return real(f)->pMethods->xShmLock(real(f), offset, count, how);
                },
            .xShmBarrier = [](sqlite3_file* f) { real(f)->pMethods->xShmBarrier(real(f)); },
            .xShmUnmap = [](sqlite3_file* f,
                            int remove) { return real(f)->pMethods->xShmUnmap(real(f), remove); },
            .xFetch = nullptr,
            .xUnfetch = nullptr};
        made.pMethods = &methods;
        return SQLITE_OK;
    }

    static int remove(sqlite3_vfs* vfs, const char* name, int flush_folder) {
        auto* disk = static_cast<FragileDisk::Vfs*>(vfs)->disk;
        if (disk->dies_at_ && disk->changes_ > *disk->dies_at_) return SQLITE_IOERR_DELETE;
        disk->files_.erase(std::filesystem::path{name}.filename());
        return disk->real_->xDelete(disk->real_, name, flush_folder);
    }
};

FragileDisk::FragileDisk(Promise promise)
    : promise_{promise}, real_{sqlite3_vfs_find(nullptr)}, vfs_{new Vfs{*real_, this}} {
    vfs_->zName = "fragile";
    vfs_->szOsFile = static_cast<int>(sizeof(FragileFile)) + real_->szOsFile;
    vfs_->xOpen = FragileCalls::open;
    vfs_->xDelete = FragileCalls::remove;
    sqlite3_vfs_register(vfs_, 1);
}

FragileDisk::~FragileDisk() {
    sqlite3_vfs_unregister(vfs_);
    sqlite3_vfs_register(real_, 1);
    delete vfs_;
}

int FragileDisk::next_change(What what) {
    const std::size_t number = changes_++;
    if (dies_at_ && number >= *dies_at_) {
        struck_ = true;
        return SQLITE_IOERR;
    }
    if (number >= failure_.from && failure_.left > 0 && what == failure_.what) {
        --failure_.left;
        struck_ = true;
        return failure_.code;
    }
    return SQLITE_OK;
}

void FragileDisk::copy_after_a_kill(const std::filesystem::path& into) const {
    for (const auto& [name, content] : files_) {
        std::ofstream{into / name, std::ios::binary} << content.now;
    }
}

void FragileDisk::copy_after_a_power_cut(const std::filesystem::path& into,
                                         std::uint64_t seed) const {
    constexpr std::size_t sector = 512;
    std::mt19937_64 dice{seed};
    for (const auto& [name, content] : files_) {
        std::string left = content.flushed;
        for (const Write& write : content.since) {
            for (std::size_t at = 0; at < write.bytes.size(); at += sector) {
                if (dice() % 2 == 0) continue;
                FragileCalls::apply(left, {write.offset + at, write.bytes.substr(at, sector)});
            }
        }
        std::ofstream{into / name, std::ios::binary} << left;
    }
}

}  // namespace leasehold::faults
