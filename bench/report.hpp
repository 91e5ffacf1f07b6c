#pragma once

#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "comparison.hpp"

namespace leasehold::bench {

// Prints rows on standard output as they come: a table, or one JSON object a line. It can keep them
// in a file as well, always as JSON.
class Report {
public:
    enum class Format { table, json };

    // Appends the rows to the file `kept`, unless that is empty. Throws std::runtime_error if the
    // file cannot be written.
    Report(Format format, const Settings& settings, const std::string& kept);

    void add(const Row& row);
    // A row of Leasehold alone: values that were measured, without a peer. Without values, no row.
    struct Measured {
        std::string group;
        std::string name;
        std::string leasehold;
        std::string unit;
        std::vector<double> values;
        std::optional<Goal> goal{};
    };
    void add_measured(Measured measured);

private:
    void print_table_line(const Row& row);
    // What a server was asked for.
    static void print_requests(const Row& row);
    [[nodiscard]] std::string json_line(const Row& row) const;

    const Format format_;
    const Settings settings_;
    std::ofstream kept_;
    bool begun_ = false;
};

}  // namespace leasehold::bench
