// However the bytes of a client are split on their way, they are the same requests.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <leasehold/errors.hpp>

#include "server/http/target.hpp"
#include "server/protocol/route.hpp"
#include "server/transport/request_reader.hpp"
#include "server/v1/cursor.hpp"

namespace leasehold::server {
namespace {

void require(bool fact) {
    if (!fact) std::abort();
}

struct Read {
    std::vector<HttpRequest> requests{};
    unsigned refused = 0;  // the status of the refusal at the end; 0: none
};

// The limits are low, so that they are reached.
ServerOptions small_limits() {
    ServerOptions options;
    options.header_bytes = 1024;
    options.body_bytes = 512;
    return options;
}

Read read(std::string_view bytes, std::size_t piece) {
    static const ServerOptions options = small_limits();
    using State = RequestReader::State;
    RequestReader reader{options};
    Read result;
    for (State state = reader.state();;) {
        if (state == State::refused) {
            result.refused = reader.problem()->status;
            return result;
        }
        if (state == State::whole) {
            result.requests.push_back(std::move(reader.request()));
            state = reader.next();
            continue;
        }
        (void)reader.take_expect_continue();
        if (bytes.empty()) return result;
        const auto space = reader.space();
        require(!space.empty());
        const std::size_t size = std::min({bytes.size(), space.size(), piece});
        std::copy_n(bytes.begin(), size, space.begin());
        bytes.remove_prefix(size);
        state = reader.received(size);
    }
}

bool same(const HttpRequest& one, const HttpRequest& other) {
    const auto all = [](const HttpRequest& r) {
        return std::tie(r.method, r.target, r.content_type, r.fields, r.body, r.keep_alive);
    };
    return all(one) == all(other);
}

// A key that a URL names comes out of a cursor as it went in.
void look_at_target(const std::string& text) try {
    const Target target = read_target(text);
    (void)read_query(target);
    constexpr PathPattern lock = "/v1/locks/{type}/{id}";
    if (!target.path || !lock.matches(*target.path)) return;
    const LockKey key{*decoded(target.path->segments[2]), *decoded(target.path->segments[3])};
    require(v1::holder_at(v1::cursor_of({.key = key, .fence = 7})).key == key);
} catch (const BadRequest&) {
}

void look_at_cursor(const std::string& text) try {
    const Holder holder = v1::holder_at(text);
    require(v1::holder_at(v1::cursor_of(holder)).key == holder.key);
} catch (const BadRequest&) {
}

void test_one(std::string_view bytes) {
    const Read whole = read(bytes, bytes.size());
    for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{300}}) {
        const Read parts = read(bytes, piece);
        require(std::ranges::equal(whole.requests, parts.requests, same));
        require(whole.refused == parts.refused);
    }
    for (const HttpRequest& request : whole.requests) {
        require(request.body.size() <= small_limits().body_bytes);
        look_at_target(request.target);
        look_at_cursor(request.target.substr(1));
    }
}

}  // namespace
}  // namespace leasehold::server

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size > 0) leasehold::server::test_one({reinterpret_cast<const char*>(data), size});
    return 0;
}
