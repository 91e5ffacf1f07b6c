#include "core/keyed_hash.hpp"

#include <gtest/gtest.h>

#include <leasehold/lock_id.hpp>
#include <leasehold/lock_key.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_set>
#include <vector>

namespace leasehold::testing {
namespace {

constexpr std::size_t many = 512;
// With a good hash the fullest of 512 buckets has about 6 of 512 keys.
constexpr std::size_t few = 20;

template <class Set>
std::size_t fullest_bucket(const Set& set) {
    std::size_t most = 0;
    for (std::size_t i = 0; i < set.bucket_count(); ++i) most = std::max(most, set.bucket_size(i));
    return most;
}

// Printable texts of 16 bytes with the same std::hash. libstdc++ hashes a text in words of 8 bytes
// (MurmurHash64A): h = (h ^ mixed(word)) * multiplier. Every step can be inverted, so for each
// first word there is one second word that leads to the wanted hash.
std::vector<std::string> texts_with_the_same_std_hash() {
    constexpr std::uint64_t multiplier = 0xC6A4A7935BD1E995ULL;
    constexpr std::uint64_t seed = 0xC70F6907ULL;
    constexpr std::uint64_t word_bytes = sizeof(std::uint64_t);
    std::uint64_t inverse = multiplier;  // Newton's iteration, modulo 2^64
    for (int i = 0; i < 6; ++i) inverse *= 2 - multiplier * inverse;
    const auto shifted = [](std::uint64_t value) { return value ^ (value >> 47U); };
    const auto mixed = [&](std::uint64_t word) { return shifted(word * multiplier) * multiplier; };
    const auto unmixed = [&](std::uint64_t word) { return shifted(word * inverse) * inverse; };
    const auto text_of = [](std::uint64_t word) {
        const auto bytes = std::bit_cast<std::array<char, word_bytes>>(word);
        return std::string{bytes.begin(), bytes.end()};
    };
    const auto printable = [](const std::string& text) {
        return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
    };
    std::vector<std::string> texts;
    for (std::uint64_t number = 10'000'000; texts.size() < many; ++number) {
        const std::string first = std::to_string(number);
        std::array<char, word_bytes> bytes{};
        std::ranges::copy(first, bytes.begin());
        const std::uint64_t after_first =
            ((seed ^ (2 * word_bytes * multiplier)) ^ mixed(std::bit_cast<std::uint64_t>(bytes))) *
            multiplier;
        constexpr std::uint64_t wanted = 42;
        std::string second = text_of(unmixed(after_first ^ wanted));
        if (printable(second)) texts.push_back(first + second);
    }
    return texts;
}

TEST(AKeyedHash, IsThePublishedFunction) {
    // The test vector of the paper, which is of SipHash-2-4.
    SipHash<2, 4> hash{HashKey{0x0706050403020100ULL, 0x0F0E0D0C0B0A0908ULL}};
    std::string text;
    for (char byte = 0; byte < 15; ++byte) text.push_back(byte);
    hash.add(text);
    EXPECT_EQ(hash.finish(), 0xA129CA6149BE45E5ULL);
}

TEST(AKeyedHash, DependsOnItsKeyAndOnWhereAPartEnds) {
    const auto hash_of = [](HashKey key, std::string_view one, std::string_view other) {
        KeyedHash hash{key};
        hash.add(one);
        hash.add(other);
        return hash.finish();
    };
    EXPECT_EQ(hash_of({1, 2}, "ab", "c"), hash_of({1, 2}, "ab", "c"));
    EXPECT_NE(hash_of({1, 2}, "ab", "c"), hash_of({1, 3}, "ab", "c"));
    EXPECT_NE(hash_of({1, 2}, "ab", "c"), hash_of({1, 2}, "a", "bc"));
    EXPECT_NE(hash_of({1, 2}, "ab", ""), hash_of({1, 2}, "", "ab"));
    EXPECT_EQ(hash_key(), hash_key());
    EXPECT_NE(hash_key(), HashKey{});
}

TEST(AKeyedHash, SpreadsKeysThatWerePrecomputedToCollide) {
    const std::vector<std::string> texts = texts_with_the_same_std_hash();
    const std::hash<std::string_view> known;
    for (const std::string& text : texts) ASSERT_EQ(known(text), known(texts.front())) << text;
    std::unordered_set<LockKey> by_id;
    std::unordered_set<LockKey> by_type;
    for (const std::string& text : texts) {
        by_id.emplace("Order", text);
        by_type.emplace(text, "1");
    }
    ASSERT_EQ(by_id.size(), many);
    EXPECT_LE(fullest_bucket(by_id), few);
    EXPECT_LE(fullest_bucket(by_type), few);
    const std::unordered_set<std::string, KeyedTextHash> names{texts.begin(), texts.end()};
    EXPECT_LE(fullest_bucket(names), few);
}

TEST(AKeyedHash, SpreadsLockIdsThatWerePrecomputedToCollide) {
    // The lower half is the upper half times two, which an exclusive or would cancel.
    std::unordered_set<LockId> ids;
    for (std::uint64_t high = 1; high <= many; ++high) {
        std::string digits(32, '0');
        for (std::size_t i = 0; i < 16; ++i) {
            digits[15 - i] = "0123456789abcdef"[high >> (4 * i) & 15U];
            digits[31 - i] = "0123456789abcdef"[high << 1U >> (4 * i) & 15U];
        }
        for (const std::size_t dash : {20U, 16U, 12U, 8U}) digits.insert(dash, "-");
        ids.insert(LockId::parse(digits).value());
    }
    ASSERT_EQ(ids.size(), many);
    EXPECT_LE(fullest_bucket(ids), few);
}

}  // namespace
}  // namespace leasehold::testing
