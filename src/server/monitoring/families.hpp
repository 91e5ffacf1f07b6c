#pragma once

#include <prometheus/metric_family.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace leasehold::server {

// The families of metrics as they are shown: names, what they mean, and their series.
class Families {
public:
    using Labels = std::vector<prometheus::ClientMetric::Label>;

    // Adds series to one of them.
    class Family {
    public:
        Family(std::vector<prometheus::MetricFamily>& all, std::size_t index)
            : all_{all}, index_{index} {}

        const Family& with(double value, Labels labels = {}) const {
            prometheus::ClientMetric& metric = add(std::move(labels));
            metric.counter.value = metric.gauge.value = value;
            return *this;
        }
        const Family& with(prometheus::ClientMetric::Histogram histogram,
                           Labels labels = {}) const {
            add(std::move(labels)).histogram = std::move(histogram);
            return *this;
        }

    private:
        prometheus::ClientMetric& add(Labels labels) const {
            prometheus::ClientMetric& metric = all_[index_].metric.emplace_back();
            metric.label = std::move(labels);
            return metric;
        }

        std::vector<prometheus::MetricFamily>& all_;
        std::size_t index_;
    };

    Family counter(std::string name, std::string help) {
        return add(prometheus::MetricType::Counter, std::move(name), std::move(help));
    }
    Family gauge(std::string name, std::string help) {
        return add(prometheus::MetricType::Gauge, std::move(name), std::move(help));
    }
    Family histogram(std::string name, std::string help) {
        return add(prometheus::MetricType::Histogram, std::move(name), std::move(help));
    }

    [[nodiscard]] const std::vector<prometheus::MetricFamily>& all() const { return all_; }

private:
    Family add(prometheus::MetricType type, std::string name, std::string help) {
        all_.push_back(
            {.name = std::move(name), .help = std::move(help), .type = type, .metric = {}});
        return {all_, all_.size() - 1};
    }

    std::vector<prometheus::MetricFamily> all_;
};

}  // namespace leasehold::server
