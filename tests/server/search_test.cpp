#include "server/v1/search.hpp"

#include <gtest/gtest.h>

#include <leasehold/errors.hpp>
#include <leasehold/limits.hpp>

namespace leasehold::server::v1 {
namespace {

Holder holder() {
    return {.key = {"Order", "Größe-7"}, .owner = "Alice/Tab-2", .note = "on the phone"};
}

bool finds(std::string_view text, const Holder& in = holder()) {
    return Search{text}.finds(in);
}

TEST(Searching, FindsATextInEveryPublicField) {
    for (const char* text :
         {"", "order", "ORDER", "größe", "der/gr", "alice/tab", "PHONE", "e-7"}) {
        EXPECT_TRUE(finds(text)) << text;
    }
    for (const char* text : {"bob", "GRÖSSE", "orders", "phone2", "7/alice"}) {
        EXPECT_FALSE(finds(text)) << text;
    }
}

// A search that begins anew at every letter would compare half a million letters here.
TEST(Searching, FindsWhatIsAlmostEverywhere) {
    const std::string almost = std::string(Limits::note_bytes / 2, 'a') + 'b';
    Holder one = holder();
    one.note = std::string(Limits::note_bytes, 'A');
    EXPECT_FALSE(finds(almost, one));
    one.note.back() = 'B';
    EXPECT_TRUE(finds(almost, one));
}

TEST(Searching, RefusesATextThatIsLongerThanAnyField) {
    EXPECT_NO_THROW(Search{std::string(Limits::note_bytes, 'a')});
    EXPECT_THROW(Search{std::string(Limits::note_bytes + 1, 'a')}, BadRequest);
}

}  // namespace
}  // namespace leasehold::server::v1
