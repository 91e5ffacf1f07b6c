#pragma once

#include <expected>
#include <string>
#include <vector>

#include <leasehold/language.hpp>
#include <leasehold/lease.hpp>
#include <leasehold/stores/http.hpp>

namespace leasehold::http {

struct Knock {
    std::string owner{};  // who knocks
    std::string message{};
    Language language = Language::english;  // of KnockRefused::detail
};

// Why no holder was asked: nobody holds the key, or the holders have just been asked.
struct KnockRefused {
    std::string code{};
    std::string detail{};
};

// Asks the holders of a key for it, through a server, and returns them. Throws StoreFault.
[[nodiscard]] std::expected<HolderPage, KnockRefused> knock(const ServerAddress& target,
                                                            Duration io_timeout, const LockKey& key,
                                                            const Knock& knock);

}  // namespace leasehold::http
