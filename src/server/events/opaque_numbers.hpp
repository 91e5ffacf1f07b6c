#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace leasehold::server {

// Prints numbers so that only this object can read them: two printed numbers do not reveal how far
// apart they are. (AES-128 of one block, with a key that is drawn at the start.) Not thread-safe.
class OpaqueNumbers {
public:
    OpaqueNumbers();

    // 32 hexadecimal digits.
    [[nodiscard]] std::string print(std::uint64_t number);
    // Nothing if the text was not printed by this object.
    [[nodiscard]] std::optional<std::uint64_t> read(std::string_view text);

private:
    struct Cipher;
    struct Free {
        void operator()(Cipher* cipher) const noexcept;
    };

    std::unique_ptr<Cipher, Free> encrypt_;
    std::unique_ptr<Cipher, Free> decrypt_;
};

}  // namespace leasehold::server
