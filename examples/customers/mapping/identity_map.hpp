#pragma once

#include <map>
#include <memory>
#include <string>

namespace customers {

// What has been loaded, by its id: one object of the database is one object here.
template <class T>
class IdentityMap {
public:
    // Nothing where it was not loaded yet.
    [[nodiscard]] std::shared_ptr<T> find(const std::string& id) const {
        const auto found = objects_.find(id);
        return found == objects_.end() ? nullptr : found->second;
    }

    std::shared_ptr<T> add(T object) {
        auto shared = std::make_shared<T>(std::move(object));
        objects_[shared->id] = shared;
        return shared;
    }

private:
    std::map<std::string, std::shared_ptr<T>> objects_;
};

}  // namespace customers
