#include <leasehold/lock_id.hpp>

#include <string>

#include "cycle.hpp"
#include "dialect.hpp"
#include "http_answer.hpp"

namespace leasehold::bench {
namespace {

std::string base64(std::string_view text) {
    constexpr std::string_view letters =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    for (std::size_t i = 0; i < text.size(); i += 3) {
        std::uint32_t bits = 0;
        for (std::size_t j = 0; j < 3; ++j) {
            const auto byte = i + j < text.size() ? static_cast<unsigned char>(text[i + j]) : 0U;
            bits = bits << 8U | byte;
        }
        for (std::size_t j = 0; j < 4; ++j) {
            out.push_back(i + j > text.size() ? '=' : letters[bits >> (18U - 6U * j) & 63U]);
        }
    }
    return out;
}

// A key's value is the lock id and how long it is held for. A plain key: a lease of etcd's would
// cost two requests more.
class EtcdDialect final : public Dialect {
public:
    void print(std::string& out, Step step, Held& held) const override {
        if (step == Step::try_lock) held.lock_id = LockId::random().to_string();
        const std::string key = base64(std::string{cycle_type} + "/" + held.id);
        const std::string taken = base64(held.lock_id + " 300");
        const std::string extended = base64(held.lock_id + " 360");
        switch (step) {
            case Step::try_lock: return ask(out, free(key), put(key, taken));
            case Step::check: return ask(out, has(key, taken), get(key));
            case Step::extend: return ask(out, has(key, taken), put(key, extended));
            case Step::release: return ask(out, has(key, extended), erase(key));
        }
    }

    std::size_t read(std::string_view in, Step step, Held& /*held*/) const override {
        const auto answer = read_http_answer(in);
        if (!answer) return 0;
        const bool done = answer->status == 200 &&
                          answer->body.find("\"succeeded\":true") != std::string_view::npos;
        constexpr const char* names[] = {"try", "check", "extend", "release"};
        expect(done, names[static_cast<int>(step)]);
        return answer->size;
    }

private:
    static void ask(std::string& out, const std::string& compare, const std::string& act) {
        print_http_request(out, "POST", "/v3/kv/txn", {},
                           R"({"compare":[)" + compare + R"(],"success":[)" + act + "]}");
    }
    static std::string free(const std::string& key) {
        return R"({"target":"CREATE","key":")" + key + R"(","create_revision":"0"})";
    }
    static std::string has(const std::string& key, const std::string& value) {
        return R"({"target":"VALUE","key":")" + key + R"(","value":")" + value + R"("})";
    }
    static std::string put(const std::string& key, const std::string& value) {
        return R"({"request_put":{"key":")" + key + R"(","value":")" + value + R"("}})";
    }
    static std::string get(const std::string& key) {
        return R"({"request_range":{"key":")" + key + R"("}})";
    }
    static std::string erase(const std::string& key) {
        return R"({"request_delete_range":{"key":")" + key + R"("}})";
    }
};

}  // namespace

std::unique_ptr<Dialect> make_etcd_dialect() {
    return std::make_unique<EtcdDialect>();
}

}  // namespace leasehold::bench
