#include "stores/etcd/txn.hpp"

#include <openssl/evp.h>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <algorithm>
#include <charconv>
#include <span>
#include <stdexcept>
#include <utility>

namespace leasehold::etcd {
namespace {

namespace json = boost::json;

// The default of etcd's --max-txn-ops. A nested transaction may have that many less the number
// of operations of the outer one.
constexpr std::size_t ops_of_a_txn = 128;
constexpr std::size_t ops_beside = 4;  // our own operations, in addition to the caller's

std::string base64_string(std::string_view bytes) {
    return '"' + base64(bytes) + '"';
}

std::string number(Revision revision) {
    return '"' + std::to_string(revision) + '"';
}

std::string printed(const KeyRange& range) {
    std::string text = R"("key":)" + base64_string(range.first);
    if (!range.end.empty()) text += R"(,"range_end":)" + base64_string(range.end);
    return text;
}

std::string compare_changed(const KeyRange& range, std::string_view result, Revision revision) {
    return R"({"target":"MOD","result":")" + std::string{result} + R"(","mod_revision":)" +
           number(revision) + ',' + printed(range) + '}';
}

std::string put_op(std::string_view key, std::string_view value) {
    return R"({"request_put":{"key":)" + base64_string(key) + R"(,"value":)" +
           base64_string(value) + "}}";
}

std::string erase_op(std::string_view key) {
    return R"({"request_delete_range":{"key":)" + base64_string(key) + "}}";
}

std::string read_op(const KeyRange& range, std::size_t limit) {
    return R"({"request_range":)" + range_body(range, limit) + '}';
}

std::string compare_value(std::string_view key, std::string_view result, std::string_view value) {
    return R"({"target":"VALUE","result":")" + std::string{result} + R"(","key":)" +
           base64_string(key) + R"(,"value":)" + base64_string(value) + '}';
}

std::string joined(std::span<const std::string> parts) {
    std::string text = "[";
    for (const std::string& part : parts) {
        if (text.size() > 1) text += ',';
        text += part;
    }
    return text + ']';
}

std::vector<std::string> nested(std::vector<std::string> ops, std::size_t most) {
    while (ops.size() > most) {
        std::vector<std::string> groups;
        for (std::size_t at = 0; at < ops.size(); at += most) {
            const auto group = std::span{ops}.subspan(at, std::min(most, ops.size() - at));
            groups.push_back(R"({"request_txn":{"success":)" + joined(group) + "}}");
        }
        ops = std::move(groups);
    }
    return ops;
}

// The operations and comparisons that a transaction can have, given the operations in all.
std::size_t breadth_for(std::size_t ops) {
    for (std::size_t depth = 1;; ++depth) {
        const std::size_t breadth = ops_of_a_txn / depth - ops_beside;
        std::size_t room = 1;
        for (std::size_t level = 0; level < depth; ++level) room *= breadth;
        if (ops <= room) return breadth;
    }
}

std::int64_t integer_of(const json::object& object, std::string_view name) {
    const json::value* const value = object.if_contains(name);
    if (value == nullptr) return 0;
    const json::string& text = value->as_string();
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{}) throw std::runtime_error{"expected a number"};
    return number;
}

std::string bytes_of(const json::object& object, std::string_view name) {
    const json::value* const value = object.if_contains(name);
    return value != nullptr ? from_base64(value->as_string()) : std::string{};
}

bool flag_of(const json::object& object, std::string_view name) {
    const json::value* const value = object.if_contains(name);
    return value != nullptr && value->as_bool();
}

void take_reads(const json::object& txn, std::vector<Page>& reads) {
    const json::value* const responses = txn.if_contains("responses");
    if (responses == nullptr) return;
    for (const json::value& response : responses->as_array()) {
        const json::object& one = response.as_object();
        if (const json::value* const range = one.if_contains("response_range")) {
            reads.push_back(page_from(*range));
        } else if (const json::value* const inner = one.if_contains("response_txn")) {
            take_reads(inner->as_object(), reads);
        }
    }
}

}  // namespace

void Txn::expect(const KeyRange& range, Revision changed, Revision known_at) {
    expected_.push_back({range, changed, known_at});
}

void Txn::expect_exactly(const std::string& key, Revision changed) {
    compares_.push_back(compare_changed({key}, "EQUAL", changed));
}

void Txn::expect_unchanged(const KeyRange& range, Revision since) {
    compares_.push_back(compare_changed(range, "LESS", since + 1));
}

void Txn::expect_below(const std::string& key, const std::string& value) {
    compares_.push_back(compare_value(key, "LESS", value));
}

void Txn::expect_value(const std::string& key, const std::string& value) {
    compares_.push_back(compare_value(key, "EQUAL", value));
}

void Txn::read(const KeyRange& range, std::size_t limit) {
    reads_.push_back(read_op(range, limit));
}

void Txn::read_otherwise(const KeyRange& range) {
    reads_otherwise_.push_back(read_op(range, 0));
}

void Txn::put_if(const std::string& key, Revision changed, const std::string& value) {
    first_ = R"({"request_txn":{"compare":[)" + compare_changed({key}, "EQUAL", changed) +
             R"(],"success":[)" + put_op(key, value) + "]}}";
}

void Txn::agree_on(const std::string& key_of_nobody) {
    if (first_.empty()) first_ = erase_op(key_of_nobody);
}

std::size_t Txn::bytes_written() const {
    std::size_t bytes = 0;
    for (const auto& [key, value] : writes_) bytes += key.size() + (value ? value->size() : 0);
    return bytes;
}

// One comparison per key. If there would be too many, one for several neighbouring keys: then a
// change of any key between them counts as a conflict, too.
std::vector<std::string> Txn::compares(std::size_t most) const {
    std::vector<std::string> all = compares_;
    if (expected_.size() + all.size() > most && !erasure_mark_.empty()) {
        all.push_back(
            compare_changed({erasure_mark_}, "LESS",
                            std::ranges::min(expected_, {}, &Expected::known_at).known_at + 1));
    }
    const std::size_t left = most > all.size() ? most - all.size() : 1;
    const std::size_t together = (expected_.size() + left - 1) / left;
    for (std::size_t at = 0; at < expected_.size(); at += together) {
        const Expected& one = expected_[at];
        if (together == 1) {
            all.push_back(compare_changed({one.range.first}, "EQUAL", one.changed));
            continue;
        }
        const auto some =
            std::span{expected_}.subspan(at, std::min(together, expected_.size() - at));
        all.push_back(
            compare_changed({one.range.first, some.back().range.end}, "LESS",
                            std::ranges::min(some, {}, &Expected::known_at).known_at + 1));
    }
    return all;
}

std::string Txn::body() const {
    std::vector<std::string> ops = reads_;
    for (const auto& [key, value] : writes_) {
        ops.push_back(value ? put_op(key, *value) : erase_op(key));
    }
    const std::size_t breadth = breadth_for(std::max(ops.size(), reads_otherwise_.size()));
    ops = nested(std::move(ops), breadth);
    if (!first_.empty()) ops.insert(ops.begin(), first_);
    return R"({"compare":)" + joined(compares(breadth)) + R"(,"success":)" + joined(ops) +
           R"(,"failure":)" + joined(nested(reads_otherwise_, breadth)) + '}';
}

Answer Answer::from(const json::value& body) {
    const json::object& txn = body.as_object();
    Answer answer;
    answer.as_expected = flag_of(txn, "succeeded");
    answer.revision = revision_of(body);
    take_reads(txn, answer.reads);
    const json::value* const responses = txn.if_contains("responses");
    if (answer.as_expected && responses != nullptr && !responses->as_array().empty()) {
        const json::object& first = responses->as_array().front().as_object();
        if (const json::value* const inner = first.if_contains("response_txn")) {
            answer.put_if_done = flag_of(inner->as_object(), "succeeded");
        }
    }
    return answer;
}

std::string range_body(const KeyRange& range, std::size_t limit) {
    std::string text = '{' + printed(range);
    if (limit > 0) text += R"(,"limit":")" + std::to_string(limit) + '"';
    return text + '}';
}

Page page_from(const json::value& range_response) {
    const json::object& range = range_response.as_object();
    Page page;
    page.more = flag_of(range, "more");
    if (const json::value* const pairs = range.if_contains("kvs")) {
        for (const json::value& pair : pairs->as_array()) {
            const json::object& one = pair.as_object();
            page.pairs.push_back({.key = bytes_of(one, "key"),
                                  .value = bytes_of(one, "value"),
                                  .changed = changed_at(one)});
        }
    }
    return page;
}

Revision revision_of(const json::value& body) {
    return integer_of(body.as_object().at("header").as_object(), "revision");
}

Revision changed_at(const json::object& pair) {
    return integer_of(pair, "mod_revision");
}

std::string base64(std::string_view bytes) {
    std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');
    const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                     reinterpret_cast<const unsigned char*>(bytes.data()),
                                     static_cast<int>(bytes.size()));
    text.resize(static_cast<std::size_t>(size));
    return text;
}

std::string from_base64(std::string_view text) {
    std::string bytes(3 * (text.size() / 4), '\0');
    const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                     reinterpret_cast<const unsigned char*>(text.data()),
                                     static_cast<int>(text.size()));
    if (size < 0 || text.size() % 4 != 0) throw std::runtime_error{"no base64"};
    bytes.resize(static_cast<std::size_t>(size));
    for (std::size_t i = 0; i < 2 && text.size() > i && text[text.size() - 1 - i] == '='; ++i) {
        bytes.pop_back();
    }
    return bytes;
}

}  // namespace leasehold::etcd
