#include "server/events/opaque_numbers.hpp"

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>

namespace leasehold::server {
namespace {

using Block = std::array<unsigned char, 16>;

void require(bool done) {
    if (!done) throw std::runtime_error{"AES cannot be used"};
}

}  // namespace

struct OpaqueNumbers::Cipher {
    Cipher(const Block& key, int encrypts) {
        require(context != nullptr && EVP_CipherInit_ex2(context, EVP_aes_128_ecb(), key.data(),
                                                         nullptr, encrypts, nullptr) == 1);
        EVP_CIPHER_CTX_set_padding(context, 0);
    }
    Cipher(const Cipher&) = delete;
    Cipher& operator=(const Cipher&) = delete;
    ~Cipher() { EVP_CIPHER_CTX_free(context); }

    [[nodiscard]] Block of(const Block& block) const {
        Block result{};
        int size = 0;
        require(EVP_CipherUpdate(context, result.data(), &size, block.data(),
                                 static_cast<int>(block.size())) == 1 &&
                size == static_cast<int>(block.size()));
        return result;
    }

    EVP_CIPHER_CTX* const context = EVP_CIPHER_CTX_new();
};

void OpaqueNumbers::Free::operator()(Cipher* cipher) const noexcept {
    delete cipher;
}

OpaqueNumbers::OpaqueNumbers() {
    Block key{};
    require(RAND_bytes(key.data(), static_cast<int>(key.size())) == 1);
    encrypt_.reset(new Cipher{key, 1});
    decrypt_.reset(new Cipher{key, 0});
}

std::string OpaqueNumbers::print(std::uint64_t number) {
    constexpr std::string_view digits = "0123456789abcdef";
    Block block{};
    for (std::size_t i = 0; i < sizeof number; ++i) {
        block[i] = static_cast<unsigned char>(number >> (8 * i));
    }
    std::string text;
    for (const unsigned char byte : encrypt_->of(block)) {
        text.append({digits[byte >> 4U], digits[byte & 15U]});
    }
    return text;
}

std::optional<std::uint64_t> OpaqueNumbers::read(std::string_view text) {
    Block block{};
    if (text.size() != 2 * block.size()) return std::nullopt;
    for (std::size_t i = 0; i < block.size(); ++i) {
        const char* const first = text.data() + 2 * i;
        const auto [end, error] = std::from_chars(first, first + 2, block[i], 16);
        if (error != std::errc{} || end != first + 2) return std::nullopt;
    }
    block = decrypt_->of(block);
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < sizeof number; ++i) {
        number |= std::uint64_t{block[i]} << (8 * i);
    }
    const bool ours = std::all_of(block.begin() + sizeof number, block.end(),
                                  [](unsigned char byte) { return byte == 0; });
    return ours ? std::optional{number} : std::nullopt;
}

}  // namespace leasehold::server
