// Preloaded into a program, makes the disk under one folder fail as another process chooses, see
// bad_disk.hpp. LEASEHOLD_BAD_DISK is the file with that choice, LEASEHOLD_BAD_DISK_FOLDER is the
// folder.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "faults/trouble.hpp"

namespace {

using leasehold::faults::Trouble;

const volatile unsigned char* wish() {
    static const volatile unsigned char* const mapped = [] {
        static const unsigned char none = 0;
        const char* path = std::getenv("LEASEHOLD_BAD_DISK");
        const int file = path != nullptr ? ::open(path, O_RDONLY | O_CLOEXEC) : -1;
        void* at = file < 0 ? MAP_FAILED : ::mmap(nullptr, 1, PROT_READ, MAP_SHARED, file, 0);
        if (file >= 0) ::close(file);
        return at == MAP_FAILED ? &none : static_cast<const unsigned char*>(at);
    }();
    return mapped;
}

bool is_under_the_folder(int file) {
    const char* folder = std::getenv("LEASEHOLD_BAD_DISK_FOLDER");
    if (folder == nullptr) return false;
    char link[64];
    char path[4096];
    std::snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    const ssize_t size = ::readlink(link, path, sizeof path);
    const std::size_t length = std::strlen(folder);
    return size > static_cast<ssize_t>(length) && std::memcmp(path, folder, length) == 0 &&
           path[length] == '/';
}

bool has(Trouble trouble, int file) {
    return *wish() == static_cast<unsigned char>(trouble) && is_under_the_folder(file);
}

template <class Function>
Function* next(const char* name) {
    return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

int fail(int error) {
    errno = error;
    return -1;
}

}  // namespace

extern "C" {

ssize_t write(int file, const void* bytes, size_t size) {
    static auto* const real = next<decltype(::write)>("write");
    return has(Trouble::full, file) ? fail(ENOSPC) : real(file, bytes, size);
}

ssize_t pwrite(int file, const void* bytes, size_t size, off_t offset) {
    static auto* const real = next<decltype(::pwrite)>("pwrite");
    return has(Trouble::full, file) ? fail(ENOSPC) : real(file, bytes, size, offset);
}

ssize_t pwrite64(int file, const void* bytes, size_t size, off64_t offset) {
    static auto* const real = next<decltype(::pwrite64)>("pwrite64");
    return has(Trouble::full, file) ? fail(ENOSPC) : real(file, bytes, size, offset);
}

ssize_t pwritev(int file, const iovec* parts, int count, off_t offset) {
    static auto* const real = next<decltype(::pwritev)>("pwritev");
    return has(Trouble::full, file) ? fail(ENOSPC) : real(file, parts, count, offset);
}

int posix_fallocate(int file, off_t offset, off_t size) {
    static auto* const real = next<decltype(::posix_fallocate)>("posix_fallocate");
    return has(Trouble::full, file) ? ENOSPC : real(file, offset, size);
}

int fsync(int file) {
    static auto* const real = next<decltype(::fsync)>("fsync");
    return has(Trouble::no_flush, file) ? fail(EIO) : real(file);
}

int fdatasync(int file) {
    static auto* const real = next<decltype(::fdatasync)>("fdatasync");
    return has(Trouble::no_flush, file) ? fail(EIO) : real(file);
}
}
