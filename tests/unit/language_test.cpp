#include "core/phrase.hpp"

#include <gtest/gtest.h>

#include <leasehold/language.hpp>
#include <string>
#include <string_view>

namespace leasehold::testing {
namespace {

TEST(ALanguage, IsKnownByItsTag) {
    for (const std::string_view tag : {"ko", "ko-KR", "KO", "Ko-kr"}) {
        EXPECT_EQ(language_of(tag), Language::korean) << tag;
    }
    for (const std::string_view tag : {"", "en", "kok", "k", "ko_KR", "fr", "*", " ko"}) {
        EXPECT_EQ(language_of(tag), Language::english) << tag;
    }
    EXPECT_EQ(language_of(tag_of(Language::korean)), Language::korean);
}

TEST(ALanguage, IsChosenByTheWeightsOfABrowser) {
    for (const std::string_view field :
         {"ko", "ko-KR,ko;q=0.9,en-US;q=0.8,en;q=0.7", "en;q=0.1,ko", "en;q=0.5 , ko;q=0.501",
          "fr, ko;q=0.2", "ko,en", "KO-kr;Q=0.3", ",ko,", "*;q=0.1,ko;q=0.2",
          "*, ko;q=0.3, en;q=0.1", "en;q=0.1,*;q=0.2", "en;q=0,*"}) {
        EXPECT_EQ(preferred_language(field), Language::korean) << field;
    }
    for (const std::string_view field :
         {"", "en", "*", "fr", "kok", "kok,en;q=0.1", "en,ko", "ko;q=0", "ko;q=0.1,en;q=0.2",
          "ko;q=0.1,*", "ko;q=0,*", "*, ko;q=0.1, en;q=0.3"}) {
        EXPECT_EQ(preferred_language(field), Language::english) << field;
    }
}

TEST(ALanguage, IsEnglishIfTheFieldIsMalformed) {
    for (const std::string_view field :
         {"ko;q=2", "ko;q=", "ko;q", "ko;level=1", "ko;q=0.1234", "ko;q=-1", "ko, en_US", "ko KR",
          "ko;q=0.9;q=0.8", "ko, \xff", "\"ko\"", "한국어, ko"}) {
        EXPECT_EQ(preferred_language(field), Language::english) << field;
    }
    EXPECT_EQ(preferred_language(std::string(100'000, ',')), Language::english);
}

TEST(APhrase, FillsItsHolesInEveryLanguage) {
    static constexpr Phrase phrase{"{name} waits for {key}", "{key}: {name} 님이 대기 중"};
    EXPECT_EQ(phrase.in(Language::english, {{"name", "Kim"}, {"key", "Order/1"}}),
              "Kim waits for Order/1");
    EXPECT_EQ(phrase.in(Language::korean, {{"name", "Kim"}, {"key", "Order/1"}}),
              "Order/1: Kim 님이 대기 중");
}

TEST(APhrase, LeavesBracesInAValueAndHolesThatItDoesNotKnow) {
    EXPECT_EQ(filled("{name}: {why}", {{"name", "{why}"}, {"why", "{name}"}}), "{why}: {name}");
    EXPECT_EQ(filled("{what} {name} {", {{"name", "Kim"}}), "{what} Kim {");
    EXPECT_EQ(filled("{ {name}", {{"name", "Kim"}}), "{ Kim");
}

}  // namespace
}  // namespace leasehold::testing
