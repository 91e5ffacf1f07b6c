#include "web/language.hpp"

#include <map>

namespace customers::web {
namespace {

const std::map<std::string_view, std::string_view>& korean() {
    static const std::map<std::string_view, std::string_view> texts{
        {"<strong>{}</strong> since {}", "<strong>{}</strong> 님 ({}부터)"},
        {"A customer needs a name.", "고객 이름을 입력하세요."},
        {"A line can be 200 characters long.", "한 줄은 200자까지 쓸 수 있습니다."},
        {"A name has 1 to 40 characters and no slash.", "이름은 1~40자이며 /를 쓸 수 없습니다."},
        {"A name is enough. Other people see it.",
         "이름만 입력하면 됩니다. 이 이름은 다른 사용자에게 표시됩니다."},
        {"A note can be 2,000 characters long.", "메모는 2,000자까지 쓸 수 있습니다."},
        {"A price is a number like 4.50.", "가격은 4.50과 같은 숫자여야 합니다."},
        {"Address", "주소"},
        {"Addresses", "주소"},
        {"All customers", "고객 목록"},
        {"An e-mail address has an @ in it.", "이메일 주소에는 @가 있어야 합니다."},
        {"Another address", "다른 주소"},
        {"Ask for the lock", "양보 요청"},
        {"Bad request", "잘못된 요청"},
        {"Cancel", "취소"},
        {"City", "도시"},
        {"Counter", "번호 발급"},
        {"Customers", "고객"},
        {"Discard my changes", "변경 내용 버리기"},
        {"Done reading", "읽기 마침"},
        {"E-mail", "이메일"},
        {"Each number is used once and without gaps, so only one person at a time can look at the "
         "next one.",
         "번호는 빠짐없이 한 번씩만 사용합니다. 그래서 다음 번호는 한 번에 한 사람만 볼 수 "
         "있습니다."},
        {"Edit", "편집"},
        {"Edit address", "주소 편집"},
        {"Edit {}", "{} 편집"},
        {"Everything you typed is kept. Sign in to continue.",
         "입력한 내용은 그대로 있습니다. 로그인하고 계속하세요."},
        {"Everything you typed is still here.", "입력한 내용은 그대로 있습니다."},
        {"Field", "항목"},
        {"Invoice numbers", "송장 번호"},
        {"It is being edited by", "지금 편집하는 사람:"},
        {"It is being read by", "지금 읽는 사람:"},
        {"It is being used by", "지금 사용하는 사람:"},
        {"Item", "품목"},
        {"Label", "구분"},
        {"Look at the next number", "다음 번호 보기"},
        {"Name", "이름"},
        {"Nobody has changed it since you opened it.", "편집을 시작한 뒤 변경된 내용이 없습니다."},
        {"Not found", "찾을 수 없음"},
        {"Not now", "지금은 처리할 수 없음"},
        {"Not possible", "처리할 수 없음"},
        {"Not saved: somebody has changed it since you opened it.",
         "저장하지 못했습니다. 편집을 시작한 뒤 다른 사용자가 변경했습니다."},
        {"Not saved: the lock is busy. Try again in a moment.",
         "저장하지 못했습니다. 다른 작업이 이 잠금을 사용하고 있으니 잠시 뒤에 다시 시도하세요."},
        {"Not saved: this form does not have your lock.",
         "저장하지 못했습니다. 이 양식에는 유효한 잠금이 없습니다."},
        {"Not saved: your lock had been released.",
         "저장하지 못했습니다. 잠금이 이미 해제되었습니다."},
        {"Not saved: your lock had expired.", "저장하지 못했습니다. 잠금이 만료되었습니다."},
        {"Not saved: your lock was broken.", "저장하지 못했습니다. 잠금이 강제 해제되었습니다."},
        {"Not sent", "보내지 못함"},
        {"Not used: your lock on the counter had expired.",
         "사용하지 못했습니다. 번호 발급 잠금이 만료되었습니다."},
        {"Note", "메모"},
        {"Now", "지금"},
        {"Number {} is used.", "{}번을 사용했습니다."},
        {"Pages", "페이지"},
        {"Phone", "전화"},
        {"Price", "가격"},
        {"Price list", "가격표"},
        {"Prices must be up to date: while somebody reads them, nobody can change them, and while "
         "somebody changes them, nobody can read them. Any number of people can read at the same "
         "time.",
         "가격은 항상 최신이어야 합니다. 누군가 읽는 동안에는 변경할 수 없고, 누군가 변경하는 "
         "동안에는 읽을 수 없습니다. 읽기는 여러 사람이 동시에 할 수 있습니다."},
        {"Put the number back", "번호 반납"},
        {"Read", "읽기"},
        {"Request refused", "요청 거부"},
        {"Review it before you save.", "저장하기 전에 검토하세요."},
        {"Save", "저장"},
        {"Saved.", "저장했습니다."},
        {"Sign in", "로그인"},
        {"Sign out", "로그아웃"},
        {"Skip to the content", "본문으로 건너뛰기"},
        {"Somebody else has the lock at the moment.", "지금은 다른 사용자가 선점하고 있습니다."},
        {"Something went wrong", "오류 발생"},
        {"Street", "도로명"},
        {"Take the lock again and review", "잠금을 다시 선점하고 검토"},
        {"The address is too long.", "주소가 너무 깁니다."},
        {"The application cannot read this request.", "요청을 해석할 수 없습니다."},
        {"The application made a mistake. You did nothing wrong.",
         "애플리케이션 오류입니다. 사용자의 잘못이 아닙니다."},
        {"The database does not answer. If you were saving, it is not known whether it was saved. "
         "Try again to find out.",
         "데이터베이스가 응답하지 않습니다. 저장 중이었다면 저장 여부를 알 수 없습니다. 다시 "
         "시도하면 확인할 수 있습니다."},
        {"The lock expires at {} unless it is renewed.", "갱신되지 않으면 잠금은 {}에 만료됩니다."},
        {"The locks cannot be checked at the moment.", "지금은 잠금을 확인할 수 없습니다."},
        {"The request is too large.", "요청이 너무 큽니다."},
        {"There is nothing here.", "요청한 페이지가 없습니다."},
        {"This form does not belong to your current session. Nothing was changed.",
         "현재 세션의 양식이 아닙니다. 변경된 내용이 없습니다."},
        {"This page does not answer this kind of request.",
         "이 페이지에서 지원하지 않는 요청입니다."},
        {"This request came from another site.", "다른 사이트에서 온 요청입니다."},
        {"This server does not have that name.", "이 서버에 없는 호스트 이름입니다."},
        {"Too many people are signed in.", "로그인한 사용자가 너무 많습니다."},
        {"Try again", "다시 시도"},
        {"Use this number", "이 번호 사용"},
        {"Version {}, by {}, {}", "버전 {}, {} 님, {}"},
        {"View only", "보기 전용"},
        {"What you typed", "입력한 내용"},
        {"When you opened it", "편집을 시작했을 때"},
        {"While you have the lock, the database itself refuses changes by others, even in a "
         "database shell.",
         "선점하고 있는 동안에는 데이터베이스가 다른 사용자의 변경을 거부합니다. 데이터베이스 "
         "셸에서도 변경할 수 없습니다."},
        {"Who are you?", "누구신가요?"},
        {"Wrong address", "잘못된 주소"},
        {"You are reading this. Nobody can change it.",
         "읽는 중입니다. 다른 사용자는 변경할 수 없습니다."},
        {"You can use the next number or put it back:",
         "다음 번호입니다. 사용하거나 반납할 수 있습니다."},
        {"You have the counter. Nobody else can see the next number.",
         "번호를 발급하는 중입니다. 다른 사용자는 다음 번호를 볼 수 없습니다."},
        {"You typed", "입력한 값"},
        {"You were signed out.", "로그아웃되었습니다."},
        {"Your request was sent.", "요청을 보냈습니다."},
        {"{name} has been reading this since {since}.", "{name} 님이 {since}부터 읽고 있습니다."},
        {"{} changed it in between, {}:", "그사이 {} 님이 변경했습니다({}):"},
        {"{} is editing", "{} 님 편집 중"},
    };
    return texts;
}

}  // namespace

std::string_view in(Language language, std::string_view english) {
    if (language == Language::english) return english;
    const auto found = korean().find(english);
    return found == korean().end() ? english : found->second;
}

}  // namespace customers::web
