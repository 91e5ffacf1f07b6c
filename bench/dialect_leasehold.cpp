#include <string>

#include "cycle.hpp"
#include "dialect.hpp"
#include "http_answer.hpp"

namespace leasehold::bench {
namespace {

std::string milliseconds(const char* field, std::chrono::milliseconds duration) {
    return std::string{"{\""} + field + "\":" + std::to_string(duration.count()) + "}";
}

class LeaseholdDialect final : public Dialect {
public:
    void print(std::string& out, Step step, Held& held) const override {
        const std::string target = path_ + held.id;
        if (step == Step::try_lock) return print_http_request(out, "POST", target, {}, taking_);
        const std::string token = "Lock-Token: " + held.lock_id + "\r\n";
        switch (step) {
            case Step::try_lock: break;
            case Step::check: return print_http_request(out, "GET", target, token, {});
            case Step::extend: return print_http_request(out, "PATCH", target, token, extending_);
            case Step::release: return print_http_request(out, "DELETE", target, token, {});
        }
    }

    std::size_t read(std::string_view in, Step step, Held& held) const override {
        const auto answer = read_http_answer(in);
        if (!answer) return 0;
        switch (step) {
            case Step::try_lock:
                expect(answer->status == 201, "try");
                held.lock_id = lock_id_in(answer->body);
                break;
            case Step::check: expect(answer->status == 200, "check"); break;
            case Step::extend: expect(answer->status == 200, "extend"); break;
            case Step::release:
                expect(answer->status == 200 && answer->body.starts_with("{\"lease\""), "release");
                break;
        }
        return answer->size;
    }

private:
    static std::string_view lock_id_in(std::string_view lease) {
        constexpr std::string_view field = "\"lock_id\":\"";
        constexpr std::size_t letters = 36;
        const std::size_t at = lease.find(field);
        expect(at != std::string_view::npos, "try");
        return lease.substr(at + field.size(), letters);
    }

    const std::string path_ = std::string{"/v1/locks/"} + cycle_type + "/";
    const std::string taking_ = milliseconds("ttl_ms", cycle_ttl);
    const std::string extending_ = milliseconds("extend_ms", cycle_extension);
};

}  // namespace

std::unique_ptr<Dialect> make_leasehold_dialect() {
    return std::make_unique<LeaseholdDialect>();
}

}  // namespace leasehold::bench
