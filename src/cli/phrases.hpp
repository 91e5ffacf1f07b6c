#pragma once

#include <array>

#include <leasehold/lease.hpp>
#include <leasehold/protection.hpp>

#include "core/phrase.hpp"

// What the command says to people: answers, refusals and faults. Help, wrong usage, the
// configuration of a server and findings of `doctor` are in English, where they are written.
// docs/ko/glossary.md has the Korean words.
namespace leasehold::cli::phrases {

inline constexpr Phrase somebody{"somebody", "익명 사용자"};

// Answers

inline constexpr Phrase is_yours{"{key} is yours{until}, fence {fence}",
                                 "{key} 잠금을 선점했습니다{until}, 펜싱 토큰 {fence}"};
inline constexpr Phrase is_alive{"{key} is alive{until}, fence {fence}",
                                 "{key} 잠금이 유효합니다{until}, 펜싱 토큰 {fence}"};
inline constexpr Phrase is_extended{"{key} is extended{until}, fence {fence}",
                                    "{key} 잠금을 연장했습니다{until}, 펜싱 토큰 {fence}"};
inline constexpr Phrase is_renewed{"{key} is renewed{until}, fence {fence}",
                                   "{key} 잠금을 갱신했습니다{until}, 펜싱 토큰 {fence}"};
inline constexpr Phrase until{" until {time} ({left})", "({time}까지, {left})"};
inline constexpr Phrase lock_id{"  lock id {id}  (keep it secret)",
                                "  잠금 ID {id}  (비밀로 보관하세요)"};
inline constexpr Phrase is_released{"{key} is released", "{key} 잠금을 해제했습니다"};
inline constexpr Phrase holds_nothing{"{owner} holds nothing",
                                      "{owner} 님이 선점한 잠금이 없습니다"};
inline constexpr Phrase is_broken{"the lease of {owner} on {key} is broken",
                                  "{key}: {owner} 님의 잠금을 강제 해제했습니다"};
inline constexpr Phrase is_asked{"{owner} is asked for {key}",
                                 "{owner} 님에게 {key} 잠금 양보를 요청했습니다"};
inline constexpr Phrase forgot_one{"forgot {count} ended lease",
                                   "끝난 잠금 {count}건을 지웠습니다"};
inline constexpr Phrase forgot{"forgot {count} ended leases", "끝난 잠금 {count}건을 지웠습니다"};
inline constexpr Phrase not_written{"the answer could not be written to standard output",
                                    "응답을 표준 출력에 쓰지 못했습니다"};

// Protected tables

inline constexpr Phrase is_protected{
    "{table} is protected: a write to a row needs the lease of {key}",
    "{table} 테이블을 보호합니다. 행을 변경하려면 {key} 잠금이 있어야 합니다"};
inline constexpr Phrase is_protected_if_leased{
    "{table} is protected: a write to a row needs the lease of {key}, if somebody has leased it",
    "{table} 테이블을 보호합니다. 누군가 {key} 잠금을 선점한 행은 그 잠금이 있어야 변경할 수 "
    "있습니다"};
inline constexpr Phrase warning{"warning  ", "경고  "};
inline constexpr Phrase not_protected_any_more{"{table} is not protected any more",
                                               "{table} 테이블을 더 이상 보호하지 않습니다"};
inline constexpr Phrase was_not_protected{"{table} was not protected",
                                          "{table} 테이블은 보호되어 있지 않았습니다"};
inline constexpr Phrase nothing_protected{"no table is protected", "보호 테이블이 없습니다"};
inline constexpr std::array table_headings{Phrase{"TABLE", "테이블"}, Phrase{"KEY", "키"},
                                           Phrase{"UNLEASED ROWS", "잠금 없는 행"}};
inline constexpr EnumTable<ProtectedTable::Unleased, Phrase> unleased{
    {{ProtectedTable::Unleased::writable, {"writable", "쓰기 가능"}},
     {ProtectedTable::Unleased::refused, {"refused", "쓰기 거부"}}}};

// Lists

inline constexpr Phrase nobody_holds{"nobody holds {key}", "{key} 키를 선점한 소유자가 없습니다"};
inline constexpr Phrase nothing_locked{"nothing is locked", "잠금이 없습니다"};
inline constexpr Phrase nothing_ended{"no lease has ended", "끝난 잠금이 없습니다"};
inline constexpr Phrase may_be_more{"there may be more; see --limit",
                                    "더 있을 수 있습니다. --limit을 참고하세요"};
inline constexpr std::array holder_headings{
    Phrase{"KEY", "키"},          Phrase{"OWNER", "소유자"},
    Phrase{"MODE", "모드"},       Phrase{"LEFT", "남은 유효 시간"},
    Phrase{"SINCE", "선점 시각"}, Phrase{"FENCE", "펜싱 토큰"},
    Phrase{"NOTE", "메모"}};
inline constexpr std::array history_headings{
    Phrase{"ENDED", "종료 시각"}, Phrase{"KEY", "키"},           Phrase{"OWNER", "소유자"},
    Phrase{"HOW", "종료 방식"},   Phrase{"BY", "종료한 사용자"}, Phrase{"HELD FOR", "선점 시간"},
    Phrase{"FENCE", "펜싱 토큰"}, Phrase{"WHY", "사유"}};
inline constexpr EnumTable<Mode, Phrase> modes{
    {{Mode::exclusive, {"exclusive", "배타"}}, {Mode::shared, {"shared", "공유"}}}};
inline constexpr EnumTable<Gone, Phrase> endings{{{Gone::unknown, {"unknown", "알 수 없음"}},
                                                  {Gone::expired, {"expired", "만료됨"}},
                                                  {Gone::released, {"released", "해제됨"}},
                                                  {Gone::taken, {"taken", "만료 후 선점됨"}},
                                                  {Gone::broken, {"broken", "강제 해제됨"}}}};
inline constexpr Phrase watched_one{"{count} lease  (q ends)", "잠금 {count}건  (q: 종료)"};
inline constexpr Phrase watched{"{count} leases  (q ends)", "잠금 {count}건  (q: 종료)"};
inline constexpr Phrase and_more{"and {count} more", "외 {count}건"};

// Times

inline constexpr Phrase until_released{"until released", "해제할 때까지"};
inline constexpr Phrase has_ended{"ended", "종료됨"};
// Of duration_units (core/durations.hpp), in their order; English as an option takes them.
inline constexpr std::array units{Phrase{"{count}d", "{count}일"},
                                  Phrase{"{count}h", "{count}시간"},
                                  Phrase{"{count}m", "{count}분"}, Phrase{"{count}s", "{count}초"},
                                  Phrase{"{count}ms", "{count}밀리초"}};
inline constexpr Phrase two_units{"{larger}{smaller}", "{larger} {smaller}"};

// Refusals

inline constexpr Phrase held{
    "{key} is held by {owner} since {since}, {left}{note}",
    "{key} 잠금은 {owner} 님이 {since}부터 선점하고 있습니다({left}{note})"};
inline constexpr Phrase shared{
    "{key} is shared by {owner} since {since}, {left}{note}",
    "{key} 잠금은 {owner} 님이 {since}부터 공유하고 있습니다({left}{note})"};
inline constexpr Phrase left{"{time} left", "{time} 남음"};
inline constexpr Phrase with_note{" ({note})", ", 메모: {note}"};
inline constexpr Phrase and_one_other{"; and {count} other", "; 그 밖에 {count}건"};
inline constexpr Phrase and_others{"; and {count} others", "; 그 밖에 {count}건"};

// Faults

inline constexpr Phrase unknown_effect{"the effect is unknown: {fault}",
                                       "반영되었는지 알 수 없습니다: {fault}"};
inline constexpr Phrase nothing_changed{"nothing was changed: {fault}",
                                        "변경된 것이 없습니다: {fault}"};
inline constexpr Phrase token_missing{
    "; LEASEHOLD_TOKEN_FILE must name a file that holds your token",
    "; LEASEHOLD_TOKEN_FILE에 토큰이 든 파일을 지정하세요"};
inline constexpr Phrase token_from{"; the token is from {source}",
                                   "; 토큰의 출처는 {source}입니다"};
inline constexpr Phrase name_the_owner{
    "; a token that speaks for one owner needs --owner (now {owner})",
    "; 소유자가 정해진 토큰에는 --owner가 필요합니다(지금은 {owner})"};

// run

inline constexpr Phrase supervisor_killed{
    "the supervisor was killed, and the command with it",
    "감시 프로세스가 강제 종료되어 명령도 함께 종료되었습니다"};
inline constexpr Phrase lease_lost{"the lease on {key} was lost, and the command stopped: {why}",
                                   "{key} 잠금을 잃어 명령을 멈췄습니다: {why}"};
inline constexpr Phrase not_renewed{"it was not renewed in time", "제때 갱신하지 못했습니다"};
inline constexpr Phrase not_released{
    "the lock on {key} could not be released and ends by itself in at most {time}: {fault}",
    "{key} 잠금을 해제하지 못했습니다. 늦어도 {time} 뒤에는 만료됩니다: {fault}"};
inline constexpr Phrase not_started{"the command was not started: {fault}",
                                    "명령을 시작하지 않았습니다: {fault}"};

}  // namespace leasehold::cli::phrases
