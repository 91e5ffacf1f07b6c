#include "hostile/hostile.hpp"

#include <algorithm>

namespace leasehold::hostile {

std::string padded(std::string text, std::size_t bytes) {
    text.resize(bytes, 'x');
    return text;
}

std::string batch_of(const std::vector<std::string>& requests) {
    std::string body = R"({"requests":[)";
    for (const std::string& request : requests) {
        if (body.back() != '[') body += ',';
        body += request;
    }
    return body + "]}";
}

void share_among(Client& client, std::size_t holders, std::string_view fields) {
    constexpr std::size_t at_once = 100;
    for (std::size_t first = 0; first < holders; first += at_once) {
        std::vector<std::string> requests;
        for (std::size_t i = first; i < std::min(holders, first + at_once); ++i) {
            requests.push_back(R"({"op":"try","type":"Shared","id":"1","mode":"shared","owner":")" +
                               padded("reader-" + std::to_string(i) + "-", Limits::owner_bytes) +
                               R"(","note":")" + padded("", Limits::note_bytes) + R"("})");
        }
        const Answer answer = client.ask("POST", "/v1/batch", batch_of(requests), fields);
        ASSERT_EQ(answer.status, 200U) << answer.body;
        const auto body = answer.json();
        for (const auto& one : body.at("answers").as_array()) {
            ASSERT_TRUE(one.as_object().contains("lease")) << "a share was not granted";
        }
    }
}

}  // namespace leasehold::hostile
