#include <leasehold/web/router.hpp>

#include <gtest/gtest.h>

namespace leasehold::testing {
namespace {

class RouterTest : public ::testing::Test {
protected:
    RouterTest() {
        router.add("GET", "/", "home");
        router.add("GET", "/orders", "list");
        router.add("GET", "/orders/new", "new");
        router.add("GET", "/orders/*", "show");
        router.add("POST", "/orders/*", "save");
        router.add("GET", "/orders/*/lines/*", "line");
    }
    std::string find(std::string_view method, std::string_view path) {
        const auto found = router.find(method, path);
        if (found.handler == nullptr) return "none";
        std::string text = *found.handler;
        for (const std::string& name : found.names) text += ' ' + name;
        return text;
    }

    web::Router<std::string> router;
};

TEST_F(RouterTest, FindsTheFirstRouteOfAPathAndAMethod) {
    EXPECT_EQ(find("GET", "/"), "home");
    EXPECT_EQ(find("GET", "/orders"), "list");
    EXPECT_EQ(find("GET", "/orders/new"), "new");
    EXPECT_EQ(find("GET", "/orders/7"), "show 7");
    EXPECT_EQ(find("HEAD", "/orders/7"), "show 7");
    EXPECT_EQ(find("POST", "/orders/7"), "save 7");
    EXPECT_EQ(find("GET", "/orders/7/lines/2"), "line 7 2");
}

TEST_F(RouterTest, DecodesEachPartOfThePath) {
    EXPECT_EQ(find("GET", "/%6Frders/a%2Fb%20c"), "show a/b c");
    EXPECT_EQ(find("GET", "/orders%2F7"), "none");
    EXPECT_EQ(find("GET", "/orders/%zz"), "none");
}

TEST_F(RouterTest, FindsNothingForOtherPaths) {
    for (const std::string_view path :
         {"", "orders", "//orders", "/orders/", "/orders/7/", "/orders/7/lines", "/nothing"}) {
        EXPECT_EQ(find("GET", path), "none") << path;
        EXPECT_EQ(router.find("GET", path).allowed, "") << path;
    }
}

TEST_F(RouterTest, NamesTheMethodsOfAPath) {
    EXPECT_EQ(find("DELETE", "/orders/7"), "none");
    EXPECT_EQ(router.find("DELETE", "/orders/7").allowed, "GET, POST");
    EXPECT_EQ(router.find("POST", "/orders").allowed, "GET");
}

}  // namespace
}  // namespace leasehold::testing
