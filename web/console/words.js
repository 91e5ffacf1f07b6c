// The words of the console, in English and Korean, and how numbers and times are written.

const english = {
    language: 'English',
    console: 'Leasehold console',
    skip: 'Skip to the content',
    locks: 'Locks', activity: 'Activity', server: 'Server',
    live: 'Live', polling: 'Every 3 s', connecting: 'Connecting', offline: 'No connection', paused: 'Paused', stopped: 'Signed out',
    liveHint: 'Changes appear as they happen', pollingHint: 'This server sends no events; the page asks every 3 seconds',
    theme: 'Colours: {name}', themeAuto: 'as the system', themeLight: 'light', themeDark: 'dark',
    signIn: 'Sign in', signOut: 'Sign out', token: 'Token',
    signInLead: 'This server wants a token.',
    signInHelp: 'It stays in this tab and is forgotten when the tab is closed.',
    signInBad: 'The server does not know this token.',
    signInEmpty: 'Enter a token.',
    signedInAs: 'Signed in as {name}',
    notAllowed: 'Not allowed', notAllowedLead: 'This token lacks the role “{role}”, which this page needs.',
    loading: 'Loading…',
    gone: 'The server does not answer. Trying again in {seconds} s.', goneNow: 'The server does not answer. Trying again…',
    stale: 'What you see is from {time}.', tryNow: 'Try now', back: 'Connected again.',
    failed: 'That did not work: {problem}', tryAgain: 'Try again',
    storeFault: 'The store does not answer: {problem}',

    held: 'Held now', heldHint: 'live leases in the store', grants: 'Granted', refusals: 'Refused', waiting: 'Waiting',
    waits: 'Waits begun', lost: 'Lost', perMinute: '{n} / min', exactly: '{n}', atLeast: '{n}+',
    search: 'Search', searchHint: 'Key, owner or note', type: 'Type', typeHint: 'Any type', owner: 'Owner', ownerHint: 'alice or alice/tab-2',
    clear: 'Clear', filters: 'Filters', openKey: 'Open {key}',
    key: 'Key', holder: 'Holder', mode: 'Mode', timeLeft: 'Time left', note: 'Note', waiters: 'Waiting', fence: 'Fence', actions: 'Actions',
    exclusive: 'exclusive', shared: 'shared', anonymous: 'anonymous', untilReleased: 'until released',
    caption: 'Live leases, in the order of their keys',
    empty: 'Nothing is locked.', emptyHint: 'As soon as somebody takes a lock, it appears here.',
    emptyFiltered: 'No live lease matches.', emptyFilteredHint: 'Change the search or the filters.',
    searchedSome: 'Searched a part of all leases so far.', searchOn: 'Search on',
    rows: '{from}–{to}', rowsOf: '{from}–{to} of {total}', previous: 'Previous', next: 'Next', firstPage: 'First page', pageSize: 'Rows',
    announceCount: '{n} leases shown', nowEnded: 'ended',
    released: 'released', expired: 'expired', taken: 'taken over', broken: 'broken', unknown: 'ended', ended: 'ended',

    lockOf: 'Lock', free: 'Free', freeHint: 'Nobody holds this key.', heldBy: 'Held by', heldByMany: 'Held by {n}',
    since: 'since', until: 'until', granted: 'Granted', expires: 'Expires', lasted: 'Held for', endedAt: 'Ended', how: 'How', by: 'By', why: 'Why',
    waitingHere: '{n} waiting on this server',
    history: 'History', historyHint: 'Who held it when, as far as the store remembers', noHistory: 'Nothing has ended here that the store remembers.',
    timeline: 'Timeline', span: 'Span', spanFit: 'All', olderHistory: 'Older', timelineLabel: 'Timeline of {key}: {leases} leases by {owners} owners, {tries} refused tries',
    legendLive: 'held now', legendReleased: 'released', legendExpired: 'ran out', legendBroken: 'broken', legendRefused: 'refused try',
    refusedTry: '{owner} was refused', refusedTries: '{owner} was refused {n} times', otherOwners: 'others', now: 'now',
    refusedTitle: 'Refused lately', refusedHint: 'Tries that found the key held, on this server', noRefused: 'No try was refused here lately.', tries: 'Tries', when: 'When',
    lastSeen: 'last', notFoundKey: 'No such page', notFoundLead: 'There is nothing under this address.', toLocks: 'Go to the locks',

    ownerPage: 'Owner', ownerLeases: 'Everything held by this owner and below', ownerEmpty: 'This owner holds nothing now.',
    releaseAll: 'Release all…', releaseAllTitle: 'Release all of {owner}',
    releaseAllLead: 'This ends every lease of this owner and of every owner below. Whoever works under them learns of it at the next renewal, and others can take the locks at once.',
    releaseAllCount: '{n} leases now:', releaseAllMore: 'and {n} more', releaseAllConfirm: 'Release {n} leases', releasedAll: '{n} leases released.',
    releaseAllNothing: 'Nothing was held any more.', confirmWord: 'Type the owner to confirm', needsUse: 'Your token lacks the role “use”, which releasing needs.',
    needsOwner: 'Your token speaks only for {owner}.',

    breakLease: 'Break…', breakLeaseOf: 'Break the lease of {owner} on {key}',
    breakTitle: 'Break a lease', breakLead: 'This lease ends at once, whatever its holder is doing. A save that comes later is refused. Exactly this lease will be broken, and no other:',
    reason: 'Reason', reasonHint: 'The holder and the history will show it', byName: 'Your name', byHint: 'Written into the history',
    breakConfirm: 'Break lease #{fence}', cancel: 'Cancel', brokenDone: 'The lease #{fence} of {owner} was broken.',
    breakGone: 'This lease has ended meanwhile ({how}). Nothing was broken.', breakChanged: 'It has changed while you looked: see above.',
    needsBreak: 'Your token lacks the role “break”.', reasonMissing: 'Say why.', nameMissing: 'Say who you are.',
    knock: 'Knock…', knockTitle: 'Ask for this lock', knockLead: 'Whoever holds it is told that you would like to have it, and can hand it over. Nothing else happens.',
    message: 'Message', messageHint: 'Please let me in when you can', send: 'Send', knocked: '{n} told.', knockedNobody: 'Nobody holds it any more.', knockedEvent: '{by} knocked',
    needsUseKnock: 'Your token lacks the role “use”, which knocking needs.',
    close: 'Close',

    activityTitle: 'Activity', activityHint: 'Of this server, since it started', lastHour: 'Last hour', lastDay: 'Last day',
    chartHeld: 'Held leases', chartTries: 'Granted and refused', chartWaits: 'Waiting', chartLost: 'Lost',
    chartHeldHint: 'in the store, all servers', chartTriesHint: 'tries per {step}', chartWaitsHint: 'the most at once', chartLostHint: 'leases whose holder learnt that they were gone',
    hottest: 'Hottest keys', hottestHint: 'Tried most lately; older tries count less', noHot: 'Nothing has been tried yet.', refusedShare: '{n} % refused',
    noActivity: 'This server does not tell its statistics.', chartEmpty: 'Nothing yet', table: 'As a table',

    serverTitle: 'Server', store: 'Store', durability: 'Durability', clock: 'Clock', warnings: 'Warnings', connections: 'Connections', version: 'Version', uptime: 'Running for',
    ready: 'Ready', notReady: 'Not ready', readyHint: 'The store answers', strong: 'strong', weak: 'weak', none: 'none',
    strongHint: 'What was answered survives the crash of server, database and machine.', weakHint: 'A setting of the database can lose what was answered.', noneHint: 'Nothing survives the end of this process.',
    clockHint: 'The store’s clock beside this server’s', clockGood: 'in step', clockOff: '{offset} apart', clockPage: 'This computer’s clock is {offset} off; times here are the store’s.', answerTime: 'Answers in', noWarnings: 'None',
    metricsLink: 'Metrics for Prometheus', descriptionLink: 'OpenAPI description', links: 'More', storeNow: 'The store’s time', faults: 'Store faults', requests: 'Requests', yourToken: 'Your token', noTokens: 'This server asks for no token.', roles: 'Roles', speaksFor: 'Speaks for', everybody: 'everybody', yes: 'yes', no: 'no',
    secondsAgo: '{n} s ago', minutesAgo: '{n} min ago', hoursAgo: '{n} h ago', justNow: 'just now', copy: 'Copy', copied: 'Copied',
};

const korean = {
    language: '한국어',
    console: 'Leasehold 콘솔',
    skip: '본문으로 건너뛰기',
    locks: '잠금', activity: '활동', server: '서버',
    live: '실시간', polling: '3초마다', connecting: '연결 중', offline: '연결 끊김', paused: '일시 중지', stopped: '로그아웃됨',
    liveHint: '변경 사항이 바로 나타납니다', pollingHint: '이 서버는 이벤트를 보내지 않아 3초마다 물어봅니다',
    theme: '색상: {name}', themeAuto: '시스템 설정', themeLight: '밝게', themeDark: '어둡게',
    signIn: '로그인', signOut: '로그아웃', token: '토큰',
    signInLead: '이 서버에는 토큰이 필요합니다.',
    signInHelp: '토큰은 이 탭에만 보관되며 탭을 닫으면 지워집니다.',
    signInBad: '서버가 모르는 토큰입니다.',
    signInEmpty: '토큰을 입력하세요.',
    signedInAs: '{name} 이름으로 로그인됨',
    notAllowed: '권한 없음', notAllowedLead: '이 페이지에 필요한 “{role}” 역할이 이 토큰에 없습니다.',
    loading: '불러오는 중…',
    gone: '서버가 응답하지 않습니다. {seconds}초 뒤에 다시 시도합니다.', goneNow: '서버가 응답하지 않습니다. 다시 시도하는 중…',
    stale: '지금 보이는 내용은 {time} 기준입니다.', tryNow: '지금 시도', back: '다시 연결되었습니다.',
    failed: '처리하지 못했습니다: {problem}', tryAgain: '다시 시도',
    storeFault: '저장소가 응답하지 않습니다: {problem}',

    held: '현재 잠금', heldHint: '저장소에 살아 있는 임대', grants: '허가', refusals: '거절', waiting: '대기',
    waits: '대기 시작', lost: '상실', perMinute: '{n}회/분', exactly: '{n}', atLeast: '{n} 이상',
    search: '검색', searchHint: '키, 소유자, 메모', type: '유형', typeHint: '모든 유형', owner: '소유자', ownerHint: 'alice 또는 alice/tab-2',
    clear: '지우기', filters: '필터', openKey: '{key} 열기',
    key: '키', holder: '보유자', mode: '모드', timeLeft: '남은 시간', note: '메모', waiters: '대기', fence: '펜스', actions: '작업',
    exclusive: '단독', shared: '공유', anonymous: '익명', untilReleased: '해제할 때까지',
    caption: '살아 있는 임대, 키 순서',
    empty: '잠긴 것이 없습니다.', emptyHint: '누군가 잠그면 여기에 바로 나타납니다.',
    emptyFiltered: '조건에 맞는 임대가 없습니다.', emptyFilteredHint: '검색어나 필터를 바꿔 보세요.',
    searchedSome: '지금까지 전체의 일부만 검색했습니다.', searchOn: '계속 검색',
    rows: '{from}–{to}', rowsOf: '{from}–{to} / {total}', previous: '이전', next: '다음', firstPage: '첫 페이지', pageSize: '행',
    announceCount: '임대 {n}건 표시', nowEnded: '종료',
    released: '해제됨', expired: '만료됨', taken: '넘어감', broken: '강제 해제됨', unknown: '종료됨', ended: '종료됨',

    lockOf: '잠금', free: '비어 있음', freeHint: '이 키를 잡고 있는 사람이 없습니다.', heldBy: '보유자', heldByMany: '보유자 {n}명',
    since: '시작', until: '만료', granted: '허가 시각', expires: '만료 시각', lasted: '보유 시간', endedAt: '종료 시각', how: '방식', by: '주체', why: '이유',
    waitingHere: '이 서버에서 {n}명 대기 중',
    history: '이력', historyHint: '저장소가 기억하는 한도에서 누가 언제 잡았는지', noHistory: '저장소가 기억하는 종료 기록이 없습니다.',
    timeline: '타임라인', span: '기간', spanFit: '전체', olderHistory: '이전 기록', timelineLabel: '{key} 타임라인: 임대 {leases}건, 소유자 {owners}명, 거절 {tries}회',
    legendLive: '현재 보유', legendReleased: '해제', legendExpired: '시간 초과', legendBroken: '강제 해제', legendRefused: '거절된 시도',
    refusedTry: '{owner} 거절됨', refusedTries: '{owner} {n}회 거절됨', otherOwners: '기타', now: '지금',
    refusedTitle: '최근 거절', refusedHint: '이 서버에서 이미 잠겨 있어 거절된 시도', noRefused: '최근에 거절된 시도가 없습니다.', tries: '시도', when: '시각',
    lastSeen: '마지막', notFoundKey: '없는 페이지', notFoundLead: '이 주소에는 아무것도 없습니다.', toLocks: '잠금 목록으로',

    ownerPage: '소유자', ownerLeases: '이 소유자와 하위 소유자가 잡고 있는 모든 잠금', ownerEmpty: '이 소유자는 지금 아무것도 잡고 있지 않습니다.',
    releaseAll: '모두 해제…', releaseAllTitle: '{owner}의 잠금 모두 해제',
    releaseAllLead: '이 소유자와 하위 소유자의 모든 임대를 끝냅니다. 작업 중인 사람은 다음 갱신 때 알게 되고, 다른 사람이 바로 잠글 수 있습니다.',
    releaseAllCount: '현재 임대 {n}건:', releaseAllMore: '외 {n}건', releaseAllConfirm: '임대 {n}건 해제', releasedAll: '임대 {n}건을 해제했습니다.',
    releaseAllNothing: '이미 아무것도 잡고 있지 않았습니다.', confirmWord: '확인하려면 소유자를 입력하세요', needsUse: '해제에 필요한 “use” 역할이 토큰에 없습니다.',
    needsOwner: '이 토큰은 {owner}만 대신할 수 있습니다.',

    breakLease: '강제 해제…', breakLeaseOf: '{key}: {owner}의 임대 강제 해제',
    breakTitle: '임대 강제 해제', breakLead: '보유자가 무엇을 하고 있든 이 임대는 바로 끝나며, 이후의 저장은 거절됩니다. 정확히 아래 임대 하나만 해제합니다:',
    reason: '이유', reasonHint: '보유자와 이력에 표시됩니다', byName: '이름', byHint: '이력에 기록됩니다',
    breakConfirm: '임대 #{fence} 강제 해제', cancel: '취소', brokenDone: '{owner}의 임대 #{fence}을(를) 강제 해제했습니다.',
    breakGone: '그 사이에 임대가 끝났습니다({how}). 해제된 것은 없습니다.', breakChanged: '보고 있는 동안 바뀌었습니다. 위를 확인하세요.',
    needsBreak: '토큰에 “break” 역할이 없습니다.', reasonMissing: '이유를 적어 주세요.', nameMissing: '이름을 적어 주세요.',
    knock: '노크…', knockTitle: '잠금 요청', knockLead: '보유자에게 이 잠금을 쓰고 싶다고 알립니다. 보유자가 넘겨줄 수 있으며, 다른 일은 일어나지 않습니다.',
    message: '메시지', messageHint: '가능할 때 넘겨주세요', send: '보내기', knocked: '{n}명에게 알렸습니다.', knockedNobody: '이제 잡고 있는 사람이 없습니다.', knockedEvent: '{by} 노크',
    needsUseKnock: '노크에 필요한 “use” 역할이 토큰에 없습니다.',
    close: '닫기',

    activityTitle: '활동', activityHint: '시작 이후 이 서버의 기록', lastHour: '최근 1시간', lastDay: '최근 24시간',
    chartHeld: '보유 중인 임대', chartTries: '허가와 거절', chartWaits: '대기', chartLost: '상실',
    chartHeldHint: '저장소 전체, 모든 서버', chartTriesHint: '{step}당 시도', chartWaitsHint: '동시에 가장 많이 기다린 수', chartLostHint: '보유자가 잃은 것을 알게 된 임대',
    hottest: '가장 뜨거운 키', hottestHint: '최근에 가장 많이 시도된 키. 오래된 시도는 덜 반영됩니다', noHot: '아직 시도가 없습니다.', refusedShare: '{n}% 거절',
    noActivity: '이 서버는 통계를 제공하지 않습니다.', chartEmpty: '아직 없음', table: '표로 보기',

    serverTitle: '서버', store: '저장소', durability: '내구성', clock: '시계', warnings: '경고', connections: '연결', version: '버전', uptime: '가동 시간',
    ready: '준비됨', notReady: '준비 안 됨', readyHint: '저장소가 응답합니다', strong: '강함', weak: '약함', none: '없음',
    strongHint: '응답한 내용은 서버, 데이터베이스, 기기가 멈춰도 남습니다.', weakHint: '데이터베이스 설정 때문에 응답한 내용을 잃을 수 있습니다.', noneHint: '이 프로세스가 끝나면 아무것도 남지 않습니다.',
    clockHint: '저장소 시계와 이 서버 시계', clockGood: '일치', clockOff: '{offset} 차이', clockPage: '이 컴퓨터의 시계가 {offset} 다릅니다. 여기의 시각은 저장소 기준입니다.', answerTime: '응답 시간', noWarnings: '없음',
    metricsLink: 'Prometheus 지표', descriptionLink: 'OpenAPI 설명', links: '더 보기', storeNow: '저장소 시각', faults: '저장소 장애', requests: '요청', yourToken: '내 토큰', noTokens: '이 서버는 토큰을 요구하지 않습니다.', roles: '역할', speaksFor: '대신할 수 있는 소유자', everybody: '모두', yes: '예', no: '아니요',
    secondsAgo: '{n}초 전', minutesAgo: '{n}분 전', hoursAgo: '{n}시간 전', justNow: '방금', copy: '복사', copied: '복사됨',
};

export const languages = {en: english, ko: korean};

const languagePlace = 'leasehold.language';
const wanted = localStorage.getItem(languagePlace) ?? navigator.language.slice(0, 2);
let language = Object.hasOwn(languages, wanted) ? wanted : 'en';

export const currentLanguage = () => language;
export function setLanguage(name) {
    language = name;
    localStorage.setItem(languagePlace, name);
}

// t('rows', {from: 1, to: 9})
export function t(name, values = {}) {
    const text = languages[language][name] ?? english[name] ?? name;
    return text.replace(/\{(\w+)\}/g, (whole, field) => (field in values ? String(values[field]) : whole));
}

export const number = (value) => new Intl.NumberFormat(language).format(value);

const units = {
    en: {d: ' d', h: ' h', m: ' min', s: ' s', ms: ' ms'},
    ko: {d: '일', h: '시간', m: '분', s: '초', ms: 'ms'},
};

// The two largest units: "4 min 12 s".
export function duration(ms) {
    const name = units[language];
    if (ms === Infinity) return t('untilReleased');
    if (ms < 0) ms = 0;
    if (ms < 1000) return `${Math.round(ms)}${name.ms}`;
    const s = Math.floor(ms / 1000);
    if (s < 60) return `${s}${name.s}`;
    if (s < 3600) return `${Math.floor(s / 60)}${name.m} ${s % 60}${name.s}`;
    if (s < 86400) return `${Math.floor(s / 3600)}${name.h} ${Math.floor((s % 3600) / 60)}${name.m}`;
    return `${Math.floor(s / 86400)}${name.d} ${Math.floor((s % 86400) / 3600)}${name.h}`;
}

// For a countdown: always as wide as it was a second ago.
export function countdown(ms) {
    if (ms === Infinity) return t('untilReleased');
    const s = Math.max(0, Math.ceil(ms / 1000));
    const two = (n) => String(n).padStart(2, '0');
    if (s >= 86400) return duration(s * 1000);
    const clock = `${two(Math.floor((s % 3600) / 60))}:${two(s % 60)}`;
    return s >= 3600 ? `${Math.floor(s / 3600)}:${clock}` : clock;
}

const sameDay = (a, b) => a.toDateString() === b.toDateString();

// "09:20:31", with the day where it is not today.
export function moment(text) {
    const date = new Date(text);
    const time = {hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false};
    const day = sameDay(date, new Date()) ? {} : {month: 'short', day: 'numeric'};
    return new Intl.DateTimeFormat(language, {...day, ...time}).format(date);
}

export const hourMinute = (ms) =>
    new Intl.DateTimeFormat(language, {hour: '2-digit', minute: '2-digit', hour12: false}).format(ms);
export const hourMinuteSecond = (ms) =>
    new Intl.DateTimeFormat(language, {hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false}).format(ms);

export const ownerName = (owner) => owner || t('anonymous');
export const keyName = ({type, id}) => `${type}/${id}`;
