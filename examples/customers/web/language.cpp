#include "web/language.hpp"

#include <map>

namespace customers::web {
namespace {

const std::map<std::string_view, std::string_view>& korean() {
    static const std::map<std::string_view, std::string_view> texts{
        {"<strong>{}</strong> since {}", "<strong>{}</strong> 님 ({}부터)"},
        {"A customer needs a name.", "고객 이름을 입력하세요."},
        {"A line can be 200 characters long.", "한 줄은 200자까지 쓸 수 있습니다."},
        {"A name has 1 to 40 characters and no slash.",
         "이름은 1자에서 40자이며 /를 쓸 수 없습니다."},
        {"A name is enough here: it is what the others see.",
         "이름만 있으면 됩니다. 다른 사람에게 이 이름이 보입니다."},
        {"A note can be 2,000 characters long.", "메모는 2,000자까지 쓸 수 있습니다."},
        {"Address", "주소"},
        {"Addresses", "주소"},
        {"All customers", "고객 목록"},
        {"An e-mail address has an @ in it.", "이메일 주소에는 @가 있어야 합니다."},
        {"Another address", "다른 주소"},
        {"Cancel", "취소"},
        {"City", "도시"},
        {"Counter", "번호표"},
        {"Customers", "고객"},
        {"Done reading", "다 읽었습니다"},
        {"E-mail", "이메일"},
        {"Each number is given once and without a gap, so even looking at the next one is for one "
         "person at a time.",
         "번호는 빠짐없이 한 번씩만 나갑니다. 그래서 다음 번호를 보는 일도 한 번에 한 사람만 할 수 "
         "있습니다."},
        {"Edit", "편집"},
        {"Edit address", "주소 편집"},
        {"Edit {}", "{} 편집"},
        {"Everything you typed is kept: sign in and go on.",
         "입력한 내용은 그대로 있습니다. 로그인하고 계속하세요."},
        {"Everything you typed is still here.", "입력한 내용은 그대로 남아 있습니다."},
        {"Field", "항목"},
        {"Give up my changes", "내 변경을 버리기"},
        {"Invoice numbers", "송장 번호"},
        {"It is being edited by", "지금 편집하는 사람:"},
        {"It is being read by", "지금 읽는 사람:"},
        {"It is open at", "지금 보고 있는 사람:"},
        {"Item", "품목"},
        {"Knock", "두드리기"},
        {"Label", "이름표"},
        {"Look at the next number", "다음 번호 보기"},
        {"Name", "이름"},
        {"Nobody has changed it since you opened it.",
         "편집을 시작한 뒤로 아무도 바꾸지 않았습니다."},
        {"Note", "메모"},
        {"Not used: your time with the counter was up.",
         "쓰지 못했습니다. 번호를 볼 수 있는 시간이 끝났습니다."},
        {"Now", "지금"},
        {"Number {} is used.", "{}번을 썼습니다."},
        {"Pages", "페이지"},
        {"Phone", "전화"},
        {"Price", "가격"},
        {"Price list", "가격표"},
        {"Prices must be read fresh: while somebody reads them nobody can change them, and while "
         "somebody changes them nobody can read them. Any number of people can read at once.",
         "가격은 항상 최신이어야 합니다. 누가 읽는 동안에는 아무도 바꿀 수 없고, 누가 바꾸는 "
         "동안에는 "
         "아무도 읽을 수 없습니다. 읽기는 여럿이 함께 할 수 있습니다."},
        {"Put it back", "되돌려 놓기"},
        {"Read", "읽기"},
        {"Save", "저장"},
        {"Saved.", "저장했습니다."},
        {"Sign in", "로그인"},
        {"Sign out", "로그아웃"},
        {"Street", "거리"},
        {"Take the lock again and look it over", "다시 잠그고 살펴보기"},
        {"The next number is yours to use or to put back:",
         "다음 번호입니다. 쓰거나 되돌려 놓을 수 있습니다."},
        {"The counter is yours. Nobody else can see the next number meanwhile.",
         "번호표를 보고 있습니다. 그동안 다른 사람은 다음 번호를 볼 수 없습니다."},
        {"They have been asked to finish.", "마쳐 달라고 알렸습니다."},
        {"To the content", "본문으로"},
        {"Try again", "다시 시도"},
        {"Unless it is renewed, the lock ends {}.", "갱신되지 않으면 잠금은 {}에 끝납니다."},
        {"Use this number", "이 번호 쓰기"},
        {"Version {}, by {}, {}", "버전 {}, {}, {}"},
        {"View only", "보기만 하기"},
        {"What you typed", "입력한 내용"},
        {"When you opened it", "편집을 시작했을 때"},
        {"Who are you?", "누구신가요?"},
        {"You are reading this. Nobody can change it meanwhile.",
         "읽는 중입니다. 그동안 아무도 바꿀 수 없습니다."},
        {"You typed", "입력한 값"},
        {"You were signed out.", "로그아웃되었습니다."},
        {"{name} has been reading this since {since}.", "{name} 님이 {since}부터 읽고 있습니다."},
        {"{} edits", "{} 편집 중"},
        {"{} has changed it meanwhile, {}:", "그동안 {} 님이 바꾸었습니다. {}:"},
        {"A price is a number like 4.50.", "가격은 4.50과 같은 숫자여야 합니다."},
        {"Look it over before you save.", "저장하기 전에 살펴보세요."},
        {"It is taken at the moment.", "지금은 다른 곳에서 편집하고 있습니다."},
        {"Not saved: the lock is busy. Try again in a moment.",
         "저장하지 못했습니다. 잠금이 처리 중이니 잠시 뒤에 다시 시도하세요."},
        {"Not saved: the time of your lock was up.",
         "저장하지 못했습니다. 잠금 시간이 끝났습니다."},
        {"Not saved: your lock had been let go.", "저장하지 못했습니다. 잠금이 풀려 있었습니다."},
        {"Not saved: your lock was taken away.",
         "저장하지 못했습니다. 관리자가 잠금을 풀었습니다."},
        {"Not saved: this form has no lock of yours.",
         "저장하지 못했습니다. 이 양식에는 내 잠금이 없습니다."},
        {"Not saved: somebody has changed it since you opened it.",
         "저장하지 못했습니다. 편집을 시작한 뒤 누군가 바꾸었습니다."},
        {"Not found", "찾을 수 없습니다"},
        {"There is nothing here.", "여기에는 아무것도 없습니다."},
        {"Not now", "지금은 안 됩니다"},
        {"The locks cannot be asked at the moment.", "지금은 잠금을 확인할 수 없습니다."},
        {"Something went wrong", "문제가 생겼습니다"},
        {"It was not your fault.", "사용자의 잘못이 아닙니다."},
        {"That cannot be asked", "요청할 수 없습니다"},
        {"The request is not one of ours.", "이 서비스의 요청이 아닙니다."},
        {"The database does not answer. If you were saving, nobody knows whether it was saved: try "
         "again to find out.",
         "데이터베이스가 응답하지 않습니다. 저장하던 중이었다면 저장되었는지 알 수 없습니다. 다시 "
         "시도하면 알 수 있습니다."},
        {"Not here", "여기가 아닙니다"},
        {"This server is not known by that name.", "이 서버의 이름이 아닙니다."},
        {"Not from here", "다른 곳에서 온 요청입니다"},
        {"This request came from another site.", "다른 사이트에서 온 요청입니다."},
        {"Too many people are signed in.", "로그인한 사람이 너무 많습니다."},
        {"Not like this", "이렇게는 안 됩니다"},
        {"This page cannot be asked for in that way.", "이 페이지는 그렇게 열 수 없습니다."},
        {"Not sent", "보내지 못했습니다"},
        {"This form is not one of your present session. Nothing was done.",
         "지금 로그인한 세션의 양식이 아닙니다. 아무것도 바뀌지 않았습니다."},
    };
    return texts;
}

}  // namespace

Language language_of(std::string_view accepted) {
    return accepted.starts_with("ko") ? Language::korean : Language::english;
}

std::string_view code_of(Language language) {
    return language == Language::korean ? "ko" : "en";
}

std::string_view in(Language language, std::string_view english) {
    if (language == Language::english) return english;
    const auto found = korean().find(english);
    return found == korean().end() ? english : found->second;
}

}  // namespace customers::web
