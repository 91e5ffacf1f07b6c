#pragma once

#include <functional>
#include <map>
#include <string>

struct sqlite3;

namespace leasehold::docs {

// What README's code leaves to the application.
struct Application {
    std::function<void()> begin;
    std::function<void()> update;
    std::function<void()> rollback;
    std::function<void()> commit;
    std::string shown{};  // the last text shown to the person
};

// Runs the C++ code of README.md, which the build copies from there.
void use_as_in_readme(const std::string& store_url, ::sqlite3* db, Application& application);

}  // namespace leasehold::docs
