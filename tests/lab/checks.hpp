#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lab/checker.hpp"
#include "lab/stories.hpp"

// The rules of the checker. There is a file for each kind of evidence that they use.
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

// By what each answer says on its own.
[[nodiscard]] std::vector<Rule> rules_by_answers();
[[nodiscard]] std::vector<Rule> rules_by_store_clock();
[[nodiscard]] std::vector<Rule> rules_by_our_clock();
// By the order of questions and answers.
[[nodiscard]] std::vector<Rule> rules_by_order();
// By what the store remembers after the run.
[[nodiscard]] std::vector<Rule> rules_by_aftermath();

// The number of leases, by key and owner, that the store has or had and that no answer shows.
[[nodiscard]] std::map<std::pair<LockKey, std::string>, std::size_t> untold_leases(
    const Stories& stories, const Aftermath& aftermath);

}  // namespace leasehold::lab
