#include <gtest/gtest.h>
#include <httplib.h>

#include <thread>

#include "application.hpp"
#include "domain/lock_rules.hpp"
#include "person.hpp"
#include "support/process.hpp"
#include "web/http_server.hpp"

// What only a real connection shows. On SQLite: nothing here depends on the database.
namespace customers::testing {
namespace {

constexpr const char* form_type = "application/x-www-form-urlencoded";

class HttpTest : public ::testing::Test {
public:
    HttpTest() {
        web::set_up(server_, CUSTOMERS_STATIC_FILES,
                    [this](auto request) { return application_.handle(std::move(request)); });
        port_ = server_.bind_to_any_port("127.0.0.1");
        serving_ = std::jthread{[this] { server_.listen_after_bind(); }};
        while (!server_.is_running()) std::this_thread::yield();
    }
    ~HttpTest() override {
        application_.desk().routes.stop_waiting();
        server_.stop();
    }

protected:
    httplib::Client client() const { return httplib::Client{"127.0.0.1", port_}; }

    // The headers of somebody who has signed in.
    httplib::Headers sign_in(const std::string& name) {
        auto browser = client();
        const auto answer = browser.Post("/sign-in", "name=" + name, form_type);
        std::string cookie = answer->get_header_value("Set-Cookie");
        return {{"Cookie", cookie.substr(0, cookie.find(';'))}};
    }
    std::string form_token(const httplib::Headers& who) {
        const std::string body = client().Get("/customers", who)->body;
        const std::string before = "name=\"form_token\" value=\"";
        const std::size_t begin = body.find(before) + before.size();
        return body.substr(begin, body.find('"', begin) - begin);
    }

    leasehold::testing::TemporaryFolder folder_;
    Application application_{{.database = "sqlite:" + (folder_.path() / "customers.db").string(),
                              .hosts = {"127.0.0.1", "[::1]"}}};
    httplib::Server server_;
    int port_ = 0;
    std::jthread serving_;
};

TEST_F(HttpTest, PagesHaveAStrictPolicyAndSafeCookies) {
    const auto page = client().Get("/sign-in");
    ASSERT_TRUE(page);
    EXPECT_EQ(page->status, 200);
    const std::string policy = page->get_header_value("Content-Security-Policy");
    EXPECT_TRUE(policy.starts_with("default-src 'none'"));
    EXPECT_EQ(policy.find("unsafe"), std::string::npos);
    EXPECT_EQ(page->get_header_value("X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(page->get_header_value("Cache-Control"), "no-store");
    const auto signed_in = client().Post("/sign-in", "name=Kim", form_type);
    const std::string cookie = signed_in->get_header_value("Set-Cookie");
    EXPECT_TRUE(cookie.contains("HttpOnly"));
    EXPECT_TRUE(cookie.contains("SameSite=Lax"));
    EXPECT_EQ(page->body.find("<script>"), std::string::npos);
    EXPECT_EQ(page->body.find("style="), std::string::npos);
}

TEST_F(HttpTest, AFormWithoutTheSessionsTokenDoesNothing) {
    const auto kim = sign_in("Kim");
    for (const std::string body : {"", "form_token=", "form_token=0123", "tab=t"}) {
        EXPECT_EQ(client().Post("/customers/1/edit", kim, body, form_type)->status, 403) << body;
    }
    const auto lee = sign_in("Lee");
    EXPECT_EQ(
        client().Post("/customers/1/edit", kim, "form_token=" + form_token(lee), form_type)->status,
        403);
    EXPECT_TRUE(application_.desk().locks.holders(key_of<Customer>("1")).empty());
    EXPECT_EQ(
        client().Post("/customers/1/edit", kim, "form_token=" + form_token(kim), form_type)->status,
        200);
}

TEST_F(HttpTest, WhatAnotherSiteSendsIsRefused) {
    auto kim = sign_in("Kim");
    const std::string body = "form_token=" + form_token(kim);
    auto cross = kim;
    cross.emplace("Sec-Fetch-Site", "cross-site");
    EXPECT_EQ(client().Post("/customers/1/edit", cross, body, form_type)->status, 403);
    auto elsewhere = kim;
    elsewhere.emplace("Origin", "http://evil.example");
    EXPECT_EQ(client().Post("/customers/1/edit", elsewhere, body, form_type)->status, 403);
    EXPECT_EQ(client().Post("/sign-in", {{"Origin", "null"}}, "name=x", form_type)->status, 403);
    auto here = kim;
    here.emplace("Origin", "http://127.0.0.1:" + std::to_string(port_));
    EXPECT_EQ(client().Post("/customers/1/edit", here, body, form_type)->status, 200);
    EXPECT_EQ(client().Delete("/v1/locks/Customer/1", cross)->status, 403);
}

TEST_F(HttpTest, ANameThatWasMadeToPointHereIsNotServed) {
    EXPECT_EQ(client().Get("/sign-in", {{"Host", "evil.example:80"}})->status, 421);
    EXPECT_EQ(client().Get("/sign-in", {{"Host", "evil.example"}})->status, 421);
    EXPECT_EQ(client().Get("/sign-in", {{"Host", "127.0.0.1"}})->status, 200);
    EXPECT_EQ(client().Get("/sign-in", {{"Host", "[::1]:7480"}})->status, 200);
    EXPECT_EQ(client().Get("/sign-in", {{"Host", "[::1]"}})->status, 200);
}

TEST_F(HttpTest, WrongMethodsAndUnknownPathsAreSaidSo) {
    const auto kim = sign_in("Kim");
    const auto save = client().Get("/customers/1/save", kim);
    EXPECT_EQ(save->status, 405);
    EXPECT_EQ(save->get_header_value("Allow"), "POST");
    EXPECT_EQ(client().Put("/customers/1", kim, "", form_type)->status, 405);
    EXPECT_EQ(client().Delete("/customers", kim)->status, 405);
    EXPECT_EQ(client().Get("/nothing", kim)->status, 404);
    EXPECT_EQ(client().Get("/customers/", kim)->status, 404);
    EXPECT_EQ(client().Get("/customers/%00", kim)->status, 400);
    EXPECT_EQ(client().Get("/customers/%zz", kim)->status, 400);
    EXPECT_EQ(client().Get("/static/../main.cpp", kim)->status, 404);
    EXPECT_EQ(client().Head("/customers", kim)->status, 200);
    EXPECT_TRUE(application_.desk().locks.holders(key_of<Customer>("1")).empty());
}

TEST_F(HttpTest, HostileNamesAreOnlyText) {
    const std::string hostile = R"("><script>alert(1)</script><img src=x onerror='alert(2)'>{}{0})";
    const auto kim = sign_in(leasehold::web::encode_url("Kim <b>\"{}"));
    const std::string token = form_token(kim);
    const auto form = client().Post("/customers/1/edit", kim, "form_token=" + token, form_type);
    Page page{.status = form->status, .body = form->body};
    auto fields = with(page.form(), "name", hostile);
    fields = with(with(fields, "note", "</textarea>" + hostile), "form_token", token);
    fields = with(fields, "address.1.city", hostile);
    ASSERT_EQ(client().Post("/customers/1/save", kim, fields.print(), form_type)->status, 303);

    const auto lee = sign_in("Lee");
    const std::string lees = "form_token=" + form_token(lee);
    std::vector<std::string> bodies{
        client().Get("/customers", lee)->body, client().Get("/customers/1", lee)->body,
        client().Post("/customers/1/edit", kim, "form_token=" + token, form_type)->body,
        client().Post("/customers/1/edit", lee, lees, form_type)->body};
    for (const std::string& body : bodies) {
        EXPECT_FALSE(body.contains("<script>alert")) << body;
        EXPECT_FALSE(body.contains("<img")) << body;
        EXPECT_FALSE(body.contains("<b>")) << body;
    }
    EXPECT_TRUE(bodies[0].contains("&lt;script&gt;"));
    EXPECT_TRUE(bodies[0].contains("{}{0}"));
}

TEST_F(HttpTest, BigFormsPassAndHugeOnesDoNot) {
    const auto kim = sign_in("Kim");
    const std::string token = form_token(kim);
    const auto form = client().Post("/customers/1/edit", kim, "form_token=" + token, form_type);
    Page page{.status = form->status, .body = form->body};
    auto fields = with(page.form(), "form_token", token);
    std::string note;
    for (int i = 0; i < 2'000; ++i) note += "글";
    ASSERT_EQ(client()
                  .Post("/customers/1/save", kim, with(fields, "note", note).print(), form_type)
                  ->status,
              303);
    const std::string huge(web::largest_body + 1, 'x');
    EXPECT_EQ(client().Post("/customers/1/save", kim, huge, form_type)->status, 413);
    const std::string far(web::longest_target + 1, 'x');
    EXPECT_EQ(client().Get("/" + far, kim)->status, 414);
}

TEST_F(HttpTest, NamesThatCannotBeAnOwnerAreRefused) {
    const std::vector<std::string> names{"", "%20", "a%2Fb", "a%0Ab", std::string(41, 'x')};
    for (const std::string& name : names) {
        const auto answer = client().Post("/sign-in", "name=" + name, form_type);
        EXPECT_EQ(answer->status, 422) << name;
    }
    EXPECT_EQ(client().Post("/sign-in", "name=%FF", form_type)->status, 400);
    EXPECT_EQ(client().Post("/sign-in", "name=%EA%B9%80%EC%B2%A0%EC%88%98", form_type)->status,
              303);
}

TEST_F(HttpTest, SpeaksKoreanToThoseWhoDo) {
    EXPECT_TRUE(client()
                    .Get("/sign-in", {{"Accept-Language", "ko-KR,ko;q=0.9"}})
                    ->body.contains("누구신가요?"));
    const auto language = [&](const char* accepted) {
        const auto page = client().Get("/sign-in", {{"Accept-Language", accepted}});
        return page->body.contains("<html lang=\"ko\">") ? "ko" : "en";
    };
    EXPECT_STREQ(language("en;q=0.1, ko"), "ko");
    EXPECT_STREQ(language("kok, en;q=0.5"), "en");
    const auto chosen = client().Get("/sign-in?lang=ko");
    EXPECT_TRUE(chosen->body.contains("<html lang=\"ko\">"));
    EXPECT_TRUE(chosen->get_header_value("Set-Cookie").starts_with("lang=ko"));
    const auto kim = sign_in("Kim");
    EXPECT_TRUE(client().Get("/customers/1/save?lang=ko", kim)->body.contains("처리할 수 없음"));
    // Also where the request does not reach the application.
    const httplib::Headers korean{{"Accept-Language", "ko"}};
    const std::string far(web::longest_target + 1, 'x');
    EXPECT_EQ(client().Get("/" + far, korean)->body, "주소가 너무 깁니다.\n");
    EXPECT_EQ(client().Post("/sign-in", korean, "name=%FF", form_type)->body,
              "요청을 해석할 수 없습니다.\n");
    const std::string huge(web::largest_body + 1, 'x');
    EXPECT_EQ(client().Post("/sign-in", korean, huge, form_type)->body, "요청이 너무 큽니다.\n");
}

TEST_F(HttpTest, ServesItsOwnFiles) {
    const auto style = client().Get("/static/customers.css");
    EXPECT_EQ(style->status, 200);
    EXPECT_EQ(style->get_header_value("Content-Type"), "text/css; charset=utf-8");
    EXPECT_EQ(client().Get("/static/nothing.js")->location, "");
}

TEST_F(HttpTest, ListensAloneOnItsPort) {
    httplib::Server second;
    web::set_up(second, CUSTOMERS_STATIC_FILES, [](auto) { return web::Response{}; });
    EXPECT_FALSE(second.bind_to_port("127.0.0.1", port_));
}

}  // namespace
}  // namespace customers::testing
