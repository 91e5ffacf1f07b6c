#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::testing {

using Labels = std::map<std::string, std::string>;

// Metrics in Prometheus's text format, read strictly: what its own linter would complain about is
// an error here.
class Exposition {
public:
    // Throws std::runtime_error, which names the line, for what is not right.
    explicit Exposition(std::string_view text);

    // The sum of all samples of this name with these labels. Throws if no sample matches.
    [[nodiscard]] double sum(const std::string& name, const Labels& labels = {}) const;

    // Of all samples: "leasehold_store_batch_requests_bucket", say.
    [[nodiscard]] std::set<std::string> names() const;
    // The names of all labels, and their values.
    [[nodiscard]] const std::map<std::string, std::set<std::string>>& labels() const {
        return labels_;
    }

private:
    struct Sample {
        std::string name;
        Labels labels;
        double value = 0;
    };
    struct Family {
        std::string name;
        std::string type;
        std::vector<Sample> samples;
    };

    void begin_family(const std::string& name);
    void add_sample(std::string_view line);
    void check(const Family& family) const;

    std::vector<Family> families_;
    std::map<std::string, std::set<std::string>> labels_;
};

}  // namespace leasehold::testing
