#include "server/token_fixture.hpp"

// The `detail` of a problem is in the language that the client prefers, and nothing else is.
namespace leasehold::testing {
namespace {

using server::Role;

const std::string korean = "Accept-Language: en;q=0.3, ko-KR, fr\r\n";

std::string detail_of(const Answer& answer) {
    return std::string{answer.json().at("detail").as_string()};
}

boost::json::value without_detail(const Answer& answer) {
    boost::json::value body = answer.json();
    body.as_object().erase("detail");
    body.as_object().erase("store_now");
    return body;
}

class InKorean : public ServerTest {
protected:
    Client client_ = server_.connect();
};

TEST_F(InKorean, ARefusalHasOneSentenceInKorean) {
    ASSERT_EQ(client_.ask("POST", "/v1/locks/Order/1", R"({"owner":"alice"})").status, 201U);
    const auto refused = [&](const std::string& fields) {
        return client_.ask("POST", "/v1/locks/Order/1", R"({"owner":"bob"})", fields);
    };
    const Answer answer = refused(korean);
    EXPECT_EQ(answer.status, 409U);
    EXPECT_EQ(detail_of(answer), "Order/1 잠금은 alice 님이 선점하고 있습니다(최대 5분 남음)");
    EXPECT_EQ(answer.fields.at("content-language"), "ko");
    EXPECT_EQ(answer.fields.at("vary"), "Accept-Language");

    const Answer english = refused("");
    EXPECT_EQ(detail_of(english), "Order/1 is held by alice for at most 5 minutes more");
    EXPECT_EQ(english.fields.at("content-language"), "en");
    EXPECT_EQ(english.fields.at("vary"), "Accept-Language");
    EXPECT_EQ(without_detail(answer), without_detail(english));
    EXPECT_EQ(english.json().at("title"), "Conflict");
}

TEST_F(InKorean, OtherProblemsAreExplainedToo) {
    const Answer nobody =
        client_.ask("POST", "/v1/locks/Order/1/knock", R"({"message":"?"})", korean);
    EXPECT_EQ(nobody.code(), "not_held");
    EXPECT_EQ(detail_of(nobody), "이 키를 선점한 소유자가 없습니다. 바로 선점해 보세요");
    EXPECT_EQ(detail_of(client_.ask("GET", "/nowhere", {}, korean)),
              "이 URL에는 아무것도 없습니다");
    const Answer gone = client_.ask("GET", "/v1/locks/Order/1", {},
                                    korean + lock_token(LockId::random().to_string()));
    EXPECT_EQ(gone.status, 410U);
    EXPECT_EQ(detail_of(gone), "그런 잠금이 없습니다");
}

TEST_F(InKorean, ABatchAnswersInKorean) {
    const Answer answer =
        client_.ask("POST", "/v1/batch",
                    R"({"requests":[{"op":"release","type":"Order","id":"1","lock_id":")" +
                        LockId::random().to_string() + R"("}]})",
                    korean);
    EXPECT_EQ(answer.status, 200U);
    EXPECT_EQ(answer.json().at("answers").at(0).at("refused").at("detail"), "그런 잠금이 없습니다");
    EXPECT_EQ(answer.fields.at("content-language"), "ko");
}

TEST_F(InKorean, WhatIsWrongWithARequestIsSaidInEnglish) {
    const Answer answer = client_.ask("POST", "/v1/locks/Order/1", R"({"owner":7})", korean);
    EXPECT_EQ(answer.status, 400U);
    EXPECT_EQ(answer.fields.at("content-language"), "en");
}

TEST_F(InKorean, OnlyAWellFormedFieldIsHeeded) {
    const auto language = [&](const std::string& fields) {
        return client_.ask("GET", "/nowhere", {}, fields).fields.at("content-language");
    };
    EXPECT_EQ(language("Accept-Language: ko\r\n"), "ko");
    EXPECT_EQ(language("Accept-Language: en;q=0.1\r\nAccept-Language: ko\r\n"), "ko");
    EXPECT_EQ(language("Accept-Language: ko;q=0.1, en\r\n"), "en");
    EXPECT_EQ(language("Accept-Language: kok\r\n"), "en");
    EXPECT_EQ(language("Accept-Language: ko;q=7\r\n"), "en");
    EXPECT_EQ(language("Accept-Language: ko, \"\r\n"), "en");
    EXPECT_EQ(language(""), "en");
}

TEST(ATokensRefusal, IsInKoreanToo) {
    RunningServer server{memory::open(), {.tokens = tokens({token("shop", {Role::use}, "shop")})}};
    Client client = server.connect();
    EXPECT_EQ(detail_of(client.ask("GET", "/v1/locks", {}, korean)),
              "이 서버가 인정하는 토큰이 필요합니다. 예: Authorization: Bearer TOKEN");
    const Answer answer = client.ask("GET", "/v1/locks", {}, korean + shows("shop"));
    EXPECT_EQ(answer.json().at("role"), "see");
    EXPECT_EQ(detail_of(answer), "토큰 'shop'에 'see' 역할이 없습니다");
}

}  // namespace
}  // namespace leasehold::testing
