#include "server/v1/search.hpp"

#include <gtest/gtest.h>

#include <leasehold/errors.hpp>
#include <leasehold/limits.hpp>

#include <boost/json/array.hpp>

#include "server/server_fixture.hpp"
#include "server/store_fixture.hpp"

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

class SearchThroughTheServer : public testing::OnAnyStore {};
LEASEHOLD_ON_ANY_STORE(SearchThroughTheServer);

TEST_P(SearchThroughTheServer, FindsTheLeasesThatContainAText) {
    testing::RunningServer server{store()};
    for (const char* owner : {"alice", "bob", "Malice"}) {
        ASSERT_TRUE(server.locks().try_lock({"Order", owner}, {.owner = owner}));
    }
    const auto page = server.connect().ask("GET", "/v1/locks?contains=ALICE").json();
    std::string owners;
    for (const auto& lock : page.at("locks").as_array()) {
        owners.append(std::string_view{lock.at("owner").as_string()}).append(" ");
    }
    EXPECT_EQ(owners, "Malice alice ");
    EXPECT_TRUE(page.at("next").is_null());
}

}  // namespace
}  // namespace leasehold::server::v1
