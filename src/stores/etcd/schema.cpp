#include "stores/etcd/schema.hpp"

#include <charconv>
#include <optional>

#include "core/grant.hpp"

namespace leasehold::etcd {
namespace {

constexpr std::string_view from = " from ";

std::size_t number_at_start(std::string_view text) {
    std::size_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

class Migration final : public SchemaMigration {
public:
    Migration(const KeyAccess& keys, const Names& names, const KeySteps& steps)
        : keys_{keys}, names_{names}, steps_{steps} {}

    std::size_t version() override {
        const std::string format = read_format().value_or("");
        const auto at = format.find(from);
        // A step that was begun and not completed has to run again.
        return number_at_start(at == std::string::npos
                                   ? std::string_view{format}
                                   : std::string_view{format}.substr(at + from.size()));
    }

    // Others may migrate at the same time: a step writes only what it has compared.
    void lock() override {}
    void unlock() override {}
    void abandon() noexcept override {}

    void step(std::size_t version) override {
        const std::string done = format_of(version + 1);
        const std::string under_way = done + std::string{from} + format_of(version);
        replace_format(version == 0 ? std::nullopt : std::optional{format_of(version)}, under_way);
        steps_[version](keys_, names_);
        replace_format(under_way, done);
    }

private:
    [[nodiscard]] std::optional<std::string> read_format() const {
        const Page page = keys_.read({names_.format()}, 1);
        if (page.pairs.empty()) return std::nullopt;
        return page.pairs.front().value;
    }

    // Does nothing if another process has replaced it.
    void replace_format(const std::optional<std::string>& before, const std::string& after) const {
        Txn txn;
        if (before) {
            txn.expect_value(names_.format(), *before);
        } else {
            txn.expect_exactly(names_.format(), 0);
        }
        txn.put(names_.format(), after);
        (void)keys_.send(txn);
    }

    const KeyAccess& keys_;
    const Names& names_;
    const KeySteps& steps_;
};

}  // namespace

const KeySteps& schema_steps() {
    // Keys are created when they are first needed, and a record without a field has the field's
    // empty value: so far no version had to change what is there.
    static const KeySteps steps(schema_version, [](const KeyAccess&, const Names&) {});
    return steps;
}

void migrate(const KeyAccess& keys, const Names& names, const KeySteps& steps) {
    Migration migration{keys, names, steps};
    leasehold::migrate("etcd", steps.size(), migration);
}

std::size_t version_in(std::string_view format) {
    return number_at_start(format);
}

}  // namespace leasehold::etcd
