#include <leasehold/scoped_lock.hpp>

namespace leasehold {

ScopedLock::~ScopedLock() {
    if (locks_ == nullptr) return;
    try {
        locks_->release(lease_.key, lease_.lock_id);
    } catch (const std::exception&) {
        // The expiry ends what we could not.
    }
}

}  // namespace leasehold
