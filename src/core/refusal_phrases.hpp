#pragma once

#include <leasehold/lease.hpp>

#include <array>
#include <chrono>

#include "core/enum_table.hpp"
#include "core/phrase.hpp"

// What Refusal::message() and Refusal::short_message() say. docs/ko/glossary.md has the Korean
// words. In Korean, 님 follows a name, so that no particle depends on how the name ends; it follows
// `somebody` too.
namespace leasehold::phrases {

inline constexpr Phrase somebody{"somebody", "익명 사용자"};

// message()

inline constexpr Phrase held{"{key} is held by {name} {left}{note}{more}",
                             "{key} 잠금은 {name} 님이 선점하고 있습니다({left}{note}{more})"};
inline constexpr Phrase shared{"{key} is shared by {name} {left}{note}{more}",
                               "{key} 잠금은 {name} 님이 공유하고 있습니다({left}{note}{more})"};
inline constexpr Phrase left_until_released{"until it is released", "해제할 때까지"};
inline constexpr Phrase left_a_moment{"for a moment more", "곧 만료됨"};
inline constexpr Phrase left_at_most{"for at most {time} more", "최대 {time} 남음"};
inline constexpr Phrase with_note{" ({note})", ", 메모: {note}"};
inline constexpr Phrase and_more{" and {others} more", ", 그 밖에 {others}건"};
inline constexpr Phrase held_by_unknown{"somebody else holds the key",
                                        "다른 사용자가 이 키를 선점하고 있습니다"};
inline constexpr Phrase busy{
    "an open transaction is using this lock; try again in a moment",
    "열려 있는 트랜잭션이 이 잠금을 사용하고 있습니다. 잠시 뒤에 다시 시도하세요"};

// Why a lease is gone, if it is not known who ended it.
inline constexpr EnumTable<Gone, Phrase> gone{{
    {Gone::unknown, {"no such lease is known", "그런 잠금이 없습니다"}},
    {Gone::expired, {"the lease has expired", "잠금이 만료되었습니다"}},
    {Gone::released, {"the lease has been released", "잠금이 해제되었습니다"}},
    {Gone::taken,
     {"the lease has expired and somebody took the key",
      "잠금이 만료된 뒤 다른 사용자가 선점했습니다"}},
    {Gone::broken, {"the lease was broken", "잠금이 강제 해제되었습니다"}},
}};
inline constexpr Phrase taken_by{"the lease has expired and {name} took the key",
                                 "잠금이 만료된 뒤 {name} 님이 선점했습니다"};
inline constexpr Phrase broken_by{"the lease was broken by {name}",
                                  "{name} 님이 잠금을 강제 해제했습니다"};

struct Unit {
    Phrase one;
    Phrase several;
    Duration length;
};
// The larger first.
inline constexpr std::array units{
    Unit{{"{count} day", "{count}일"}, {"{count} days", "{count}일"}, std::chrono::days{1}},
    Unit{{"{count} hour", "{count}시간"}, {"{count} hours", "{count}시간"}, std::chrono::hours{1}},
    Unit{
        {"{count} minute", "{count}분"}, {"{count} minutes", "{count}분"}, std::chrono::minutes{1}},
    Unit{{"{count} second", "{count}초"},
         {"{count} seconds", "{count}초"},
         std::chrono::seconds{1}}};

// short_message(), as RefusalTexts has them

inline constexpr Phrase short_held{"{name} has been editing this since {time}.",
                                   "{name} 님이 {time}부터 편집하고 있습니다."};
inline constexpr Phrase short_held_by_several{
    "{name} has been using this since {time}, and {others} more.",
    "{name} 님 외 {others}명이 {time}부터 사용하고 있습니다."};
inline constexpr Phrase short_held_by_unknown{"Somebody else is editing this.",
                                              "다른 사용자가 편집하고 있습니다."};
inline constexpr Phrase short_expired{"Your lock has expired.", "잠금이 만료되었습니다."};
inline constexpr Phrase short_released{"Your lock was released elsewhere.",
                                       "다른 곳에서 잠금이 해제되었습니다."};
inline constexpr Phrase short_taken{"Your lock ended, and {name} took it.",
                                    "잠금이 종료된 뒤 {name} 님이 선점했습니다."};
inline constexpr Phrase short_broken{"{name} broke your lock.",
                                     "{name} 님이 잠금을 강제 해제했습니다."};
inline constexpr Phrase short_broken_why{"{name} broke your lock: “{why}”",
                                         "{name} 님이 잠금을 강제 해제했습니다: “{why}”"};
inline constexpr Phrase short_unknown{"You no longer have the lock.",
                                      "잠금이 더 이상 유효하지 않습니다."};
inline constexpr Phrase short_busy{"This is being saved right now. Try again in a moment.",
                                   "지금 저장하고 있습니다. 잠시 뒤에 다시 시도하세요."};

}  // namespace leasehold::phrases
