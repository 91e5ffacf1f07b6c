#pragma once

#include "comparison.hpp"

namespace leasehold::bench {

// Prints rows on standard output as they come: a table, or one JSON object a line.
class Report {
public:
    enum class Format { table, json };

    Report(Format format, const Settings& settings) : format_{format}, settings_{settings} {}

    void add(const Row& row);

private:
    void print_table_line(const Row& row);
    // What a server was asked for.
    static void print_requests(const Row& row);
    void print_json_line(const Row& row) const;

    const Format format_;
    const Settings settings_;
    bool begun_ = false;
};

}  // namespace leasehold::bench
