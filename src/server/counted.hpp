#pragma once

#include <atomic>
#include <cstddef>

namespace leasehold::server {

// Adds one to a counter while this object lives.
class Counted {
public:
    explicit Counted(std::atomic<std::size_t>& count) : count_{count} {
        count_.fetch_add(1, std::memory_order_relaxed);
    }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
    ~Counted() { count_.fetch_sub(1, std::memory_order_relaxed); }

private:
    std::atomic<std::size_t>& count_;
};

}  // namespace leasehold::server
