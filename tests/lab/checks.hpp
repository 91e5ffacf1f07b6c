#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lab/checker.hpp"
#include "lab/stories.hpp"

// The checker's rules, a file for what each kind of them goes by.
namespace leasehold::lab {

struct Evidence {
    const Operations& operations;
    const Expectations& expectations;
    const Aftermath* aftermath;  // nullptr if it is not known
    const Stories stories;

    template <class Look>
    void each_seen(Look look) const {
        for (const auto& [id, story] : stories.by_id) {
            if (story.is_seen()) look(story);
        }
    }
};

using Report = std::function<void(std::string what, std::vector<const Operation*>)>;

struct Rule {
    const char* name;
    void (*check)(const Evidence& evidence, const Report& report);
};

// What an answer says, by itself.
[[nodiscard]] std::vector<Rule> rules_by_answers();
[[nodiscard]] std::vector<Rule> rules_by_store_clock();
[[nodiscard]] std::vector<Rule> rules_by_our_clock();
// Of questions and answers.
[[nodiscard]] std::vector<Rule> rules_by_order();
// What the store remembers when all is over.
[[nodiscard]] std::vector<Rule> rules_by_aftermath();

// How many leases, by key and owner, the store has or had that no answer tells of.
[[nodiscard]] std::map<std::pair<LockKey, std::string>, std::size_t> untold_leases(
    const Stories& stories, const Aftermath& aftermath);

}  // namespace leasehold::lab
