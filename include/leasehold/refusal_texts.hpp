#pragma once

#include <string>

#include <leasehold/language.hpp>

namespace leasehold {

// What Refusal::short_message() says, in one language. Replace any of the texts, or fill in all of
// them for another language. {name} is a person, the first part of an owner's path; {time} is when
// the holder got the lock, "14:05"; {others} is a number; {why} is the reason an administrator
// gave.
struct RefusalTexts {
    std::string somebody{};  // {name}, if an owner is anonymous
    std::string held{};
    std::string held_by_several{};
    std::string held_by_unknown{};  // the refusal names no holder
    std::string expired{};
    std::string released{};
    std::string taken{};
    std::string broken{};
    std::string broken_why{};
    std::string unknown{};
    std::string busy{};

    [[nodiscard]] static const RefusalTexts& in(Language language);
};

}  // namespace leasehold
