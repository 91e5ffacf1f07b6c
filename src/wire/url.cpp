#include "wire/url.hpp"

namespace leasehold::wire {
namespace {

constexpr std::string_view unreserved =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._";

}  // namespace

void append_encoded(std::string& out, std::string_view name) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    for (const char c : name) {
        if (unreserved.find(c) != std::string_view::npos) {
            out.push_back(c);
        } else {
            const auto byte = static_cast<unsigned char>(c);
            out.append({'%', digits[byte >> 4U], digits[byte & 15U]});
        }
    }
}

}  // namespace leasehold::wire
