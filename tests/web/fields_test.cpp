#include <leasehold/web/fields.hpp>
#include <leasehold/web/http.hpp>

#include <gtest/gtest.h>

namespace leasehold::web {
namespace {

Fields fields_of(std::string_view text) {
    return Fields::parse(text).value();
}

TEST(WebFields, AreReadAndPrintedInTheirOrder) {
    const Fields fields = fields_of("b=1+2&a=%EA%B0%80%26&empty&b=3");
    EXPECT_EQ(fields.get("b"), "1 2");
    EXPECT_EQ(fields.get("a"), "가&");
    EXPECT_EQ(fields.get("other"), "");
    EXPECT_TRUE(fields.has("empty"));
    EXPECT_FALSE(fields.has("other"));
    EXPECT_EQ(fields.print(), "b=1%202&a=%EA%B0%80%26&empty=&b=3");
    EXPECT_EQ(Fields{}.print(), "");
}

TEST(WebFields, AreNotReadFromAnythingElse) {
    for (const char* text : {"a=%zz", "%4=1", "a=%FF", "a=%00", "a=%1B"}) {
        EXPECT_FALSE(Fields::parse(text)) << text;
    }
    EXPECT_TRUE(Fields::parse("a=%0D%0A%09"));
    std::string many;
    for (std::size_t i = 0; i < Fields::most; ++i) many += "a=1&";
    EXPECT_TRUE(Fields::parse(many));
    EXPECT_FALSE(Fields::parse(many + "a=1"));
}

TEST(WebFields, ShowWhatHasChanged) {
    const auto found = changes(fields_of("version=1&name=Kim&city=Oslo&note=old"),
                               fields_of("version=2&name=Lee&city=Oslo&phone=1"));
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(found[0].field, "name");
    EXPECT_EQ(found[0].before, "Kim");
    EXPECT_EQ(found[0].after, "Lee");
    EXPECT_EQ(found[1].field, "note");
    EXPECT_EQ(found[1].after, "");
    EXPECT_EQ(found[2].field, "phone");
}

TEST(WebFields, AreMergedWithWhatOthersHaveSaved) {
    const Fields loaded = fields_of("version=1&name=Kim&city=Oslo&line.1=a&line.2=b");
    const Fields now = fields_of("version=2&name=Kim&city=Wien&line.1=a&line.2=c");
    // The name was typed and the city was not touched.
    EXPECT_EQ(
        merged(loaded, fields_of("version=1&name=Lee&city=Oslo&line.1=a&line.2=b"), now).print(),
        "version=2&name=Lee&city=Wien&line.1=a&line.2=c");
    // One line was typed: the list is the person's.
    EXPECT_EQ(
        merged(loaded, fields_of("version=1&name=Kim&city=Oslo&line.1=x&line.2=b"), now).print(),
        "version=2&name=Kim&city=Wien&line.1=x&line.2=b");
}

Request request_with(Headers headers) {
    return {.method = "POST", .headers = std::move(headers)};
}

TEST(WebRequest, SaysWhetherItComesFromAnotherSite) {
    EXPECT_FALSE(is_from_another_site({}));
    EXPECT_FALSE(is_from_another_site(request_with({{"Sec-Fetch-Site", "same-origin"}})));
    EXPECT_FALSE(is_from_another_site(request_with({{"Sec-Fetch-Site", "none"}})));
    EXPECT_TRUE(is_from_another_site(request_with({{"Sec-Fetch-Site", "same-site"}})));
    EXPECT_TRUE(is_from_another_site(request_with({{"Sec-Fetch-Site", "cross-site"}})));
    EXPECT_FALSE(is_from_another_site(
        request_with({{"Origin", "http://shop.example:80"}, {"Host", "shop.example:80"}})));
    EXPECT_TRUE(is_from_another_site(
        request_with({{"Origin", "http://evil.example"}, {"Host", "shop.example"}})));
    EXPECT_TRUE(is_from_another_site(request_with({{"Origin", "null"}, {"Host", "null"}})));
}

TEST(WebRequest, SaysWhichHostItIsFor) {
    const std::vector<std::string> hosts{"shop.example", "[::1]"};
    for (const char* host : {"shop.example", "shop.example:7480", "[::1]", "[::1]:7480"}) {
        EXPECT_TRUE(is_for_host(request_with({{"Host", host}}), hosts)) << host;
    }
    for (const char* host : {"", "evil.example", "shop.example.evil", "::1"}) {
        EXPECT_FALSE(is_for_host(request_with({{"Host", host}}), hosts)) << host;
    }
}

TEST(WebRequest, EncodesPartsOfUrls) {
    EXPECT_EQ(encode_url("a/b c-_.ü%"), "a%2Fb%20c-_.%C3%BC%25");
    EXPECT_EQ(decode_url("a%2Fb%20c-_.%C3%BC%25"), "a/b c-_.ü%");
    for (const char* text : {"%", "%g0", "%FF", "%0A"}) EXPECT_FALSE(decode_url(text)) << text;
}

}  // namespace
}  // namespace leasehold::web
