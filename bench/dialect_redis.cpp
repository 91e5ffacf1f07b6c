#include <leasehold/lock_id.hpp>

#include <charconv>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>

#include "connection.hpp"
#include "cycle.hpp"
#include "dialect.hpp"

namespace leasehold::bench {
namespace {

void append_command(std::string& out, std::initializer_list<std::string_view> words) {
    out.append("*").append(std::to_string(words.size())).append("\r\n");
    for (const std::string_view word : words) {
        out.append("$").append(std::to_string(word.size())).append("\r\n");
        out.append(word).append("\r\n");
    }
}

struct RedisAnswer {
    std::string_view text;
    std::size_t size = 0;
};

// A simple string, a number or a bulk string; nothing while it is not whole.
std::optional<RedisAnswer> read_redis_answer(std::string_view in) {
    const std::size_t line = in.find("\r\n");
    if (line == std::string_view::npos) return std::nullopt;
    if (in[0] == '-') throw std::runtime_error{"Redis: " + std::string{in.substr(1, line - 1)}};
    if (in[0] != '$') return RedisAnswer{in.substr(0, line), line + 2};
    long size = 0;
    std::from_chars(in.data() + 1, in.data() + line, size);
    if (size < 0) return RedisAnswer{{}, line + 2};
    const auto length = static_cast<std::size_t>(size);
    if (in.size() < line + 2 + length + 2) return std::nullopt;
    return RedisAnswer{in.substr(line + 2, length), line + 2 + length + 2};
}

constexpr std::string_view extend_script =
    "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end "
    "return redis.call('PEXPIRE', KEYS[1], redis.call('PTTL', KEYS[1]) + ARGV[2])";
constexpr std::string_view release_script =
    "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end "
    "return redis.call('DEL', KEYS[1])";

// Its digest, by which it is called.
std::string load(const Connection& connection, std::string_view script) {
    std::string out;
    append_command(out, {"SCRIPT", "LOAD", script});
    connection.send(out);
    std::string in;
    for (;;) {
        connection.receive(in);
        if (const auto answer = read_redis_answer(in)) return std::string{answer->text};
    }
}

class RedisDialect final : public Dialect {
public:
    explicit RedisDialect(const Connection& connection)
        : extend_{load(connection, extend_script)}, release_{load(connection, release_script)} {}

    void print(std::string& out, Step step, Held& held) const override {
        const std::string key = std::string{cycle_type} + ":" + held.id;
        switch (step) {
            case Step::try_lock:
                held.lock_id = LockId::random().to_string();
                return append_command(out, {"SET", key, held.lock_id, "NX", "PX", ttl_});
            case Step::check: return append_command(out, {"GET", key});
            case Step::extend:
                return append_command(out, {"EVALSHA", extend_, "1", key, held.lock_id, more_});
            case Step::release:
                return append_command(out, {"EVALSHA", release_, "1", key, held.lock_id});
        }
    }

    std::size_t read(std::string_view in, Step step, Held& held) const override {
        const auto answer = read_redis_answer(in);
        if (!answer) return 0;
        switch (step) {
            case Step::try_lock: expect(answer->text == "+OK", "try"); break;
            case Step::check: expect(answer->text == held.lock_id, "check"); break;
            case Step::extend: expect(answer->text == ":1", "extend"); break;
            case Step::release: expect(answer->text == ":1", "release"); break;
        }
        return answer->size;
    }

private:
    const std::string extend_;
    const std::string release_;
    const std::string ttl_ = std::to_string(std::chrono::milliseconds{cycle_ttl}.count());
    const std::string more_ = std::to_string(std::chrono::milliseconds{cycle_extension}.count());
};

}  // namespace

std::unique_ptr<Dialect> make_redis_dialect(std::uint16_t port) {
    return std::make_unique<RedisDialect>(Connection{port});
}

}  // namespace leasehold::bench
