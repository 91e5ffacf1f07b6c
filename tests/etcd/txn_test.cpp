#include "stores/etcd/txn.hpp"

#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include <algorithm>
#include <string>

namespace leasehold::etcd {
namespace {

namespace json = boost::json;

std::size_t size_of(const json::object& txn, const char* list) {
    const json::value* const found = txn.if_contains(list);
    return found != nullptr ? found->as_array().size() : 0;
}

// As etcd counts: what a transaction has itself is missing to those within it.
std::size_t operations(const json::object& txn, std::size_t allowed) {
    const std::size_t own =
        std::max({size_of(txn, "compare"), size_of(txn, "success"), size_of(txn, "failure")});
    EXPECT_LE(own, allowed);
    std::size_t count = 0;
    for (const char* branch : {"success", "failure"}) {
        if (size_of(txn, branch) == 0) continue;
        for (const json::value& op : txn.at(branch).as_array()) {
            const json::value* const inner = op.as_object().if_contains("request_txn");
            count += inner != nullptr ? operations(inner->as_object(), allowed - own) : 1;
        }
    }
    return count;
}

class TxnOf : public ::testing::TestWithParam<int> {};

TEST_P(TxnOf, StaysWithinWhatEtcdAllows) {
    constexpr std::size_t allowed = 128;
    Txn txn;
    for (int i = 0; i < GetParam(); ++i) {
        const std::string key = "key" + std::to_string(100'000 + i);
        txn.expect({key, key + "\x01"}, i, 1000);
        txn.read_otherwise({key});
        txn.put(key, "value");
        txn.erase(key + "/more");
        txn.put(key + "/most", "value");
    }
    txn.put_if("clock", 7, "time");
    txn.read({"clock"});
    const json::value body = json::parse(txn.body());
    const auto each = static_cast<std::size_t>(GetParam());
    EXPECT_EQ(operations(body.as_object(), allowed), 4 * each + 2);
    if (each <= 41) {
        EXPECT_EQ(size_of(body.as_object(), "compare"), each);
    }
}

INSTANTIATE_TEST_SUITE_P(, TxnOf, ::testing::Values(0, 1, 41, 50, 100, 256, 1000, 5000));

TEST(Txn, ComparesSeveralKeysInARowTogetherWhereTheyAreMany) {
    Txn txn;
    for (int i = 0; i < 1000; ++i) {
        const std::string key = "key" + std::to_string(1000 + i);
        txn.expect({key, key + "\x01"}, 5, 100 + i % 3);
    }
    const json::value body = json::parse(txn.body());
    const json::object& first = body.as_object().at("compare").as_array().front().as_object();
    EXPECT_EQ(first.at("result").as_string(), "LESS");
    // As it was when the oldest of them was seen.
    EXPECT_EQ(first.at("mod_revision").as_string(), "101");
    EXPECT_EQ(from_base64(first.at("key").as_string()), "key1000");
    EXPECT_EQ(from_base64(first.at("range_end").as_string()), "key1008\x01");
}

TEST(Base64, GoesThereAndBack) {
    std::string bytes;
    for (int i = 0; i < 300; ++i) {
        EXPECT_EQ(from_base64(base64(bytes)), bytes);
        bytes += static_cast<char>(i);
    }
    EXPECT_EQ(base64(""), "");
    EXPECT_EQ(base64(std::string_view{"\0", 1}), "AA==");
    EXPECT_ANY_THROW((void)from_base64("AAA"));
    EXPECT_ANY_THROW((void)from_base64("A*A="));
}

TEST(Answer, TellsWhatWasReadInWhicheverBranch) {
    const Answer answer = Answer::from(json::parse(R"({
        "header": {"revision": "9"}, "succeeded": true, "responses": [
            {"response_txn": {"succeeded": true, "responses": [{"response_put": {}}]}},
            {"response_txn": {"succeeded": true, "responses": [
                {"response_range": {}},
                {"response_range": {"more": true, "kvs": [
                    {"key": "YQ==", "value": "Yg==", "mod_revision": "7"}]}}]}}]})"));
    EXPECT_TRUE(answer.as_expected);
    EXPECT_TRUE(answer.put_if_done);
    EXPECT_EQ(answer.revision, 9);
    ASSERT_EQ(answer.reads.size(), 2U);
    EXPECT_TRUE(answer.reads[0].pairs.empty());
    ASSERT_EQ(answer.reads[1].pairs.size(), 1U);
    EXPECT_TRUE(answer.reads[1].more);
    EXPECT_EQ(answer.reads[1].pairs[0].key, "a");
    EXPECT_EQ(answer.reads[1].pairs[0].value, "b");
    EXPECT_EQ(answer.reads[1].pairs[0].changed, 7);
    EXPECT_FALSE(Answer::from(json::parse(R"({"header": {}})")).as_expected);
    EXPECT_ANY_THROW((void)Answer::from(json::parse("{}")));
}

}  // namespace
}  // namespace leasehold::etcd
