#pragma once

#include "core/phrase.hpp"

// What the server says in the `detail` of a problem to people who did nothing wrong: they lack a
// right, or they must wait. The sentences of refusals are in core/refusal_phrases.hpp. Malformed
// requests and faults of the store are explained in English, where they are found.
// docs/ko/glossary.md has the Korean words.
namespace leasehold::server::phrases {

inline constexpr Phrase not_found{"there is nothing under this URL",
                                  "이 URL에는 아무것도 없습니다"};
inline constexpr Phrase not_held{"nobody holds this key: try to lock it",
                                 "이 키를 선점한 소유자가 없습니다. 바로 선점해 보세요"};
inline constexpr Phrase just_asked{"the holder has just been asked: wait a moment",
                                   "잠금 소유자에게 방금 양보를 요청했습니다. 잠시 기다리세요"};

// Rights

inline constexpr Phrase unauthorized{
    "this server wants a token that it accepts, as in Authorization: {form}",
    "이 서버가 인정하는 토큰이 필요합니다. 예: Authorization: {form}"};
inline constexpr Phrase lacks_role{"the token '{token}' lacks the role '{role}'",
                                   "토큰 '{token}'에 '{role}' 역할이 없습니다"};
inline constexpr Phrase lacks_key{"the keys of the token '{token}' do not include {key}",
                                  "토큰 '{token}'에는 {key} 키를 다룰 권한이 없습니다"};
inline constexpr Phrase no_purge{
    "the token '{token}' may touch only some keys; a purge concerns all keys",
    "토큰 '{token}'에는 일부 키의 권한만 있습니다. 정리(purge)는 모든 키에 적용됩니다"};
inline constexpr Phrase name_the_key{
    "the token '{token}' may touch only some keys; name the key together with the lock id",
    "토큰 '{token}'에는 일부 키의 권한만 있습니다. 잠금 ID와 함께 키도 지정하세요"};
inline constexpr Phrase no_totals{
    "the token '{token}' sees only some keys; these numbers count the leases of all keys",
    "토큰 '{token}'에는 일부 키를 볼 권한만 있습니다. 이 수치는 모든 키의 잠금을 센 것입니다"};
inline constexpr Phrase no_findings{
    "the token '{token}' may break the leases of some keys only; the findings are about the whole "
    "installation",
    "토큰 '{token}'에는 일부 키의 잠금을 강제 해제할 권한만 있습니다. 이 진단은 서버와 저장소 "
    "전체에 관한 것입니다"};
inline constexpr Phrase no_owner{"the token '{token}' speaks for no owner",
                                 "토큰 '{token}'에 허용된 소유자가 없습니다"};
inline constexpr Phrase other_owner{
    "the token '{token}' speaks only for the owner '{owner}' and owners below it, '{owner}/...'",
    "토큰 '{token}'에 허용된 소유자는 '{owner}' 및 그 아래의 '{owner}/...'뿐입니다"};
inline constexpr Phrase keys_changed{
    "the keys that this token may see have just changed: ask again",
    "이 토큰이 볼 수 있는 키가 방금 바뀌었습니다. 다시 요청하세요"};

// Load

inline constexpr Phrase request_rate{"the token '{token}' exceeds its request rate",
                                     "토큰 '{token}'의 요청이 허용된 빈도보다 잦습니다"};
inline constexpr Phrase unknown_tokens{"too many requests without a valid token from your address",
                                       "이 주소에서 유효한 토큰 없이 보낸 요청이 너무 많습니다"};
inline constexpr Phrase large_batches_of_token{
    "clients with the token '{token}' send too many large batches at once",
    "토큰 '{token}'의 클라이언트들이 큰 일괄 요청을 한꺼번에 너무 많이 보냈습니다"};
inline constexpr Phrase large_batches{
    "too many large batches are being answered; try again in a moment",
    "큰 일괄 요청을 너무 많이 처리하고 있습니다. 잠시 뒤에 다시 시도하세요"};
inline constexpr Phrase large_answers_of_token{
    "clients with the token '{token}' have not read their large answers yet",
    "토큰 '{token}'의 클라이언트들이 큰 응답을 아직 다 받지 않았습니다"};
inline constexpr Phrase large_answers{
    "too many large answers are being sent; try again in a moment",
    "큰 응답을 너무 많이 보내고 있습니다. 잠시 뒤에 다시 시도하세요"};
inline constexpr Phrase large_bodies_of_token{
    "clients with the token '{token}' send too many large bodies",
    "토큰 '{token}'의 클라이언트들이 큰 요청을 너무 많이 보냈습니다"};
inline constexpr Phrase large_bodies{
    "too many large bodies are being received; try again in a moment",
    "큰 요청을 너무 많이 받고 있습니다. 잠시 뒤에 다시 시도하세요"};
inline constexpr Phrase connections{"too many connections; try again in a moment",
                                    "연결이 너무 많습니다. 잠시 뒤에 다시 시도하세요"};
inline constexpr Phrase token_quota{
    "the token '{name}' has used up its quota '{quota}', {limit} {what}; {remedy}. The server's "
    "administrator sets the quota.",
    "토큰 '{name}'의 '{quota}' 할당량({what}: {limit})을 모두 사용했습니다. {remedy}. 할당량은 "
    "서버 "
    "관리자가 정합니다."};
inline constexpr Phrase owner_quota{
    "the owner '{name}' has used up its quota '{quota}', {limit} {what}; {remedy}. The server's "
    "administrator sets the quota.",
    "소유자 '{name}'의 '{quota}' 할당량({what}: {limit})을 모두 사용했습니다. {remedy}. 할당량은 "
    "서버 관리자가 정합니다."};
inline constexpr Phrase few_places{
    "the server has few places left for {what}, and the token '{name}' has {limit} of them; "
    "{remedy}",
    "서버에 남은 자리가 적습니다({what}). 토큰 '{name}'에서 이미 {limit}자리를 쓰고 있습니다. "
    "{remedy}"};

}  // namespace leasehold::server::phrases
