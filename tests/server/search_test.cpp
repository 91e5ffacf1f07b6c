#include "server/v1/search.hpp"

#include <gtest/gtest.h>

#include <leasehold/errors.hpp>
#include <leasehold/limits.hpp>

#include <boost/json/array.hpp>

#include "server/server_fixture.hpp"
#include "server/store_fixture.hpp"
#include "unit/gated_store.hpp"

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

// A search that begins anew at every letter would compare a quarter of a million letters here.
TEST(Searching, ComparesEachLetterTwiceAtMost) {
    const std::string many_a(Limits::note_bytes / 2, 'a');
    Holder one = holder();
    one.note = std::string(Limits::note_bytes, 'A');
    const std::size_t searched = one.key.to_string().size() + one.key.id().size() +
                                 one.key.type().size() + one.owner.size() + one.note.size();
    for (const std::string& text : {many_a + 'b', 'b' + many_a, many_a + 'b' + many_a.substr(1)}) {
        Search search{text};
        EXPECT_FALSE(search.finds(one));
        EXPECT_LE(search.comparisons(), 2 * searched);
    }
    one.note.back() = 'B';
    EXPECT_TRUE(finds(many_a + 'b', one));
    one.note = "aabaabaaab";
    EXPECT_TRUE(finds("aabaaab", one));
    EXPECT_FALSE(finds("aabaaaab", one));
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

// The store has more pages than a search looks at, and none of them has the text.
TEST(ALongSearch, LooksAtTwentyPagesAndOthersAreServedInBetween) {
    constexpr std::size_t pages = 20;
    auto gated = std::make_unique<testing::GatedStore>(memory::open());
    testing::GatedStore& store = *gated;
    testing::RunningServer server{
        std::move(gated), {.threads = 1, .requests_under_way = 1}, {.page_rows = 2}};
    const auto mine = server.locks().try_lock({"Order", "mine"});
    for (std::size_t i = 0; i < 3 * pages; ++i) {
        ASSERT_TRUE(server.locks().try_lock({"Order", std::to_string(i)}));
    }
    store.close();
    const std::size_t before = store.batches().size();
    testing::Client searching = server.connect();
    searching.send(testing::message("GET", "/v1/locks?contains=nowhere&limit=2"));
    ASSERT_TRUE(store.wait_until_held());
    testing::Client renewing = server.connect();
    renewing.send(testing::message("PATCH", "/v1/locks/Order/mine", R"({"ttl_ms":60000})",
                                   testing::lock_token(mine->lock_id.to_string())));
    // On its one thread the server has read the renewal when it answers this.
    EXPECT_EQ(server.connect().ask("GET", "/healthz").status, 200U);
    store.open();
    EXPECT_EQ(renewing.receive().status, 200U);
    const auto page = searching.receive().json();
    EXPECT_TRUE(page.at("locks").as_array().empty());
    EXPECT_TRUE(page.at("next").is_string());

    std::size_t searched = 0;
    std::size_t searched_before_the_renewal = 0;
    const auto batches = store.batches();
    for (std::size_t i = before; i < batches.size(); ++i) {
        for (const Request& request : batches[i]) {
            if (std::holds_alternative<Renew>(request)) searched_before_the_renewal = searched;
            const auto* const list = std::get_if<List>(&request);
            if (list == nullptr) continue;
            EXPECT_EQ(list->limit, 2U);
            ++searched;
        }
    }
    EXPECT_EQ(searched, pages);
    EXPECT_EQ(searched_before_the_renewal, 1U);
}

}  // namespace
}  // namespace leasehold::server::v1
