#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

// A hash of text that clients choose. Its key is drawn when the process starts, so that a client
// cannot know which texts share a bucket of a hash table and make the table slow with them.
namespace leasehold {

using HashKey = std::array<std::uint64_t, 2>;

// The key of this process.
[[nodiscard]] const HashKey& hash_key();

// SipHash (Aumasson and Bernstein, "SipHash: a fast short-input PRF") with this number of rounds
// for each word of the text and at the end. Add the parts of a text, then call finish() once.
template <int rounds_each, int rounds_last>
class SipHash {
public:
    explicit SipHash(const HashKey& key = hash_key()) noexcept
        : v0_{key[0] ^ 0x736F6D6570736575ULL},
          v1_{key[1] ^ 0x646F72616E646F6DULL},
          v2_{key[0] ^ 0x6C7967656E657261ULL},
          v3_{key[1] ^ 0x7465646279746573ULL} {}

    void add(std::uint64_t word) noexcept {
        v3_ ^= word;
        for (int i = 0; i < rounds_each; ++i) round();
        v0_ ^= word;
    }

    // The text is followed by its length, so that "ab" + "c" and "a" + "bc" differ.
    void add(std::string_view text) noexcept {
        constexpr std::size_t word_bytes = sizeof(std::uint64_t);
        const std::uint64_t length = text.size();
        for (; text.size() >= word_bytes; text.remove_prefix(word_bytes)) {
            std::uint64_t word = 0;
            std::memcpy(&word, text.data(), word_bytes);
            add(word);
        }
        std::uint64_t last = 0;
        if (!text.empty()) std::memcpy(&last, text.data(), text.size());
        constexpr unsigned behind_seven_bytes = 56;
        add(last | length << behind_seven_bytes);
    }

    [[nodiscard]] std::uint64_t finish() noexcept {
        constexpr std::uint64_t end_mark = 0xFF;
        v2_ ^= end_mark;
        for (int i = 0; i < rounds_last; ++i) round();
        return v0_ ^ v1_ ^ v2_ ^ v3_;
    }

private:
    void round() noexcept {
        v0_ += v1_;
        v2_ += v3_;
        v1_ = std::rotl(v1_, 13) ^ v0_;
        v3_ = std::rotl(v3_, 16) ^ v2_;
        v0_ = std::rotl(v0_, 32);
        v2_ += v1_;
        v0_ += v3_;
        v1_ = std::rotl(v1_, 17) ^ v2_;
        v3_ = std::rotl(v3_, 21) ^ v0_;
        v2_ = std::rotl(v2_, 32);
    }

    std::uint64_t v0_;
    std::uint64_t v1_;
    std::uint64_t v2_;
    std::uint64_t v3_;
};

// The rounds that hash tables need.
using KeyedHash = SipHash<1, 3>;

// For the hash tables of text.
struct KeyedTextHash {
    using is_transparent = void;

    [[nodiscard]] std::size_t operator()(std::string_view text) const noexcept {
        KeyedHash hash;
        hash.add(text);
        return static_cast<std::size_t>(hash.finish());
    }
};

}  // namespace leasehold
