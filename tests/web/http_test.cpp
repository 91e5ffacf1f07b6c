#include <gtest/gtest.h>

#include <leasehold/errors.hpp>
#include <leasehold/web/client_files.hpp>
#include <leasehold/web/http.hpp>
#include <leasehold/web/json.hpp>
#include <leasehold/web/visitor.hpp>

namespace leasehold::web {
namespace {

TEST(WebRequest, ReadsHeadersCookiesAndTheQuery) {
    const Request request{.target = "/a%2Fb?name=J%C3%BCrgen+K&empty&bad=%zz",
                          .headers = {{"cookie", "a=1; session=x=y; b"}, {"Lock-Token", "id"}}};
    EXPECT_EQ(request.path(), "/a%2Fb");
    EXPECT_EQ(request.header("LOCK-token"), "id");
    EXPECT_EQ(request.header("Accept"), "");
    EXPECT_EQ(request.cookie("session"), "x=y");
    EXPECT_EQ(request.cookie("b"), "");
    EXPECT_EQ(request.cookie("c"), "");
    EXPECT_EQ(request.query("name"), "Jürgen K");
    EXPECT_EQ(request.query("empty"), "");
    EXPECT_EQ(request.query("bad"), "");
    EXPECT_EQ(Request{}.query("name"), "");
}

TEST(WebRequest, HelpsWithCookiesAndHtml) {
    EXPECT_EQ(set_cookie("session", "1f"), "session=1f; Path=/; HttpOnly; SameSite=Lax; Secure");
    EXPECT_EQ(set_cookie("session", "1f", CookieFor::any_http),
              "session=1f; Path=/; HttpOnly; SameSite=Lax");
    EXPECT_EQ(set_cookie("session", "", CookieFor::any_http),
              "session=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0");
    EXPECT_EQ(escape_html(R"(<a href="x">&'</a>)"),
              "&lt;a href=&quot;x&quot;&gt;&amp;&#39;&lt;/a&gt;");
    EXPECT_EQ(form_field("a=1&name=A%26B&name=C", "name"), "A&B");
}

TEST(Visitor, OwnsTheLeasesOfItsSession) {
    const Visitor kim{"Kim", "s-1"};
    EXPECT_EQ(kim.owner(), "Kim/s-1");
    EXPECT_EQ(kim.owner_in("tab_2-x"), "Kim/s-1/tab_2-x");
    EXPECT_TRUE(kim.owns({.key = {"Order", "1"}, .owner = "Kim/s-1/tab"}));
    EXPECT_FALSE(kim.owns({.key = {"Order", "1"}, .owner = "Kim/s-10/tab"}));
    EXPECT_FALSE(kim.owns({.key = {"Order", "1"}, .owner = "Kim"}));
    EXPECT_EQ(user_of("Kim/s-1/tab"), "Kim");
    for (const char* tab : {"", "a b", "a/b", "ü"}) {
        EXPECT_THROW((void)kim.owner_in(tab), BadRequest) << tab;
    }
    EXPECT_THROW((void)kim.owner_in(std::string(65, 'x')), BadRequest);
    for (const char* name : {"", "a/b", "a\nb", "\xff"}) {
        EXPECT_THROW((Visitor{name, "s-1"}), BadRequest) << name;
        EXPECT_THROW((Visitor{"Kim", name}), BadRequest) << name;
    }
}

TEST(ClientFiles, AreServedFromTheLibrary) {
    const auto element = client_file("/client/leasehold-guard.js");
    ASSERT_TRUE(element);
    EXPECT_EQ(element->content_type, "text/javascript; charset=utf-8");
    EXPECT_TRUE(element->body.contains("customElements.define"));
    EXPECT_TRUE(client_file("/client/ticks.js"));
    EXPECT_FALSE(client_file("/client/demo.js"));
    EXPECT_FALSE(client_file("/client/../main.cpp"));
}

TEST(WebJson, IsWhatTheElementReads) {
    const Lease lease{.key = {"Order", "1"},
                      .lock_id = *LockId::parse("0190163d-8694-739b-aea5-966c26f8ad91"),
                      .owner = "Kim/s-1/t",
                      .fence = 7,
                      .granted_at = Time{},
                      .expires_at = Time{std::chrono::seconds{120}}};
    EXPECT_EQ(to_json(lease),
              R"({"type":"Order","id":"1","lock_id":"0190163d-8694-739b-aea5-966c26f8ad91",)"
              R"("owner":"Kim/s-1/t","mode":"exclusive","fence":7,)"
              R"("granted_at":"1970-01-01T00:00:00.000000Z",)"
              R"("expires_at":"1970-01-01T00:02:00.000000Z","remaining_ms":120000,"note":"",)"
              R"("store_now":"1970-01-01T00:00:00.000000Z"})");
    const Response gone = refused({.reason = Gone::expired});
    EXPECT_EQ(gone.status, 410);
    EXPECT_EQ(gone.content_type, "application/problem+json");
    EXPECT_TRUE(gone.body.contains(R"("reason":"expired")")) << gone.body;
    const Response held = refused({.kind = Refusal::Kind::held});
    EXPECT_EQ(held.status, 409);
    EXPECT_TRUE(held.body.contains(R"("code":"held")")) << held.body;
    EXPECT_TRUE(problem(401, "unauthorized", "x").body.contains(R"("code":"unauthorized")"));
}

}  // namespace
}  // namespace leasehold::web
