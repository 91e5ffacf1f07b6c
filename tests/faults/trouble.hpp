#pragma once

namespace leasehold::faults {

// The faults of a disk.
enum class Trouble : unsigned char {
    none,
    no_flush,  // fsync() and fdatasync() fail with EIO
    full,      // every write fails with ENOSPC
};

}  // namespace leasehold::faults
