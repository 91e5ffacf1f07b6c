// The texts of <leasehold-guard>. {name} and the like are replaced. docs/ko/glossary.md lists the Korean words.
// In Korean a name is followed by 님, so that no particle depends on how the name ends.

export const texts = {
  en: {
    label: 'Who is editing this',
    you: 'you',
    somebody: 'somebody',
    asking: 'Checking whether this is free.',
    unreachable: 'The server cannot be reached. Trying again.',
    held: 'You are editing this. Nobody else can change it.',
    heldStale: 'You have the lock again, but somebody else edited in between. Compare with the latest version before you save.',
    expiringUnconfirmed: 'The server does not answer. Your lock is valid for another {left}.',
    expiringIdle: 'You seem to be away. The lock will be released in {left}. What you typed stays here.',
    expiringCap: 'You have held the lock for a long time. It will be released in {left}. Save your work.',
    lostExpired: 'Your lock has expired.',
    lostReleased: 'Your lock was released elsewhere.',
    lostTaken: 'Your lock ended, and {name} took it.',
    lostTakenUnknown: 'Your lock ended, and somebody else took it.',
    lostBroken: '{name} broke your lock.',
    lostBrokenWhy: '{name} broke your lock: “{why}”',
    lostIdle: 'You were away, so your lock was released.',
    lostCap: 'You held the lock for the longest time allowed, so it was released.',
    lostUnconfirmed: 'The server cannot be reached, and your lock has expired.',
    lostUnauthorized: 'You are signed out.',
    lostForbidden: 'You are no longer allowed to edit this.',
    lostUnknown: 'You no longer have the lock.',
    draftKept: 'What you typed is still here. You can save it when you have the lock again.',
    draftKeptSignedOut: 'What you typed is still here. Sign in again in another tab, then take the lock again here.',
    nowHeldBy: '{name} is editing it now.',
    refused: '{name} has been editing this since {since}.',
    refusedOwn: 'You have been editing this in another tab or window since {since}.',
    refusedUntil: 'The lock expires at {until} unless it is renewed.',
    noteOf: '“{note}”',
    waiting: 'You are in line.',
    waitingNext: 'You are next.',
    waitingBehind: 'You are in line. People before you: {ahead}.',
    free: 'This is free now.',
    released: 'You have released the lock.',
    failed: 'This cannot be locked: {why}',
    failedUnauthorized: 'You are signed out.',
    failedForbidden: 'You are not allowed to edit this.',
    sending: 'Checking with the server before sending.',
    notSent: 'Not sent: the server cannot be reached. What you typed is still here.',
    turn: 'It is your turn. Loading the latest version.',
    knocked: '{name} would like to edit this: “{message}”',
    knockDefault: 'May I edit this?',
    knockSent: 'Your request was sent to {name}.',
    knockFailed: 'Your request could not be sent.',
    knockMessage: 'Message to {name}',
    needUntil: 'needs five more minutes, until {until}',
    take: 'Start editing',
    retake: 'Take the lock again',
    again: 'Try again',
    wait: 'Wait in line',
    stopWaiting: 'Stop waiting',
    knock: 'Ask for the lock',
    send: 'Send',
    cancel: 'Cancel',
    latest: 'Open the latest version in a new tab',
    stillHere: 'I am still here',
    finish: 'Finish and hand over',
    fiveMore: 'Five more minutes',
  },
  ko: {
    label: '편집 중인 사람',
    you: '나',
    somebody: '다른 사용자',
    asking: '편집할 수 있는지 확인하고 있습니다.',
    unreachable: '서버에 연결할 수 없습니다. 다시 시도하고 있습니다.',
    held: '편집 중입니다. 다른 사용자는 변경할 수 없습니다.',
    heldStale: '잠금을 다시 선점했지만 그사이 다른 사용자가 편집했습니다. 저장하기 전에 최신 내용과 비교하세요.',
    expiringUnconfirmed: '서버가 응답하지 않습니다. 잠금은 앞으로 {left} 동안 유효합니다.',
    expiringIdle: '자리를 비우신 것 같습니다. {left} 뒤에 잠금이 해제됩니다. 입력한 내용은 그대로 남습니다.',
    expiringCap: '잠금을 오래 선점하고 있습니다. {left} 뒤에 잠금이 해제됩니다. 지금까지 작업한 내용을 저장하세요.',
    lostExpired: '잠금이 만료되었습니다.',
    lostReleased: '다른 곳에서 잠금이 해제되었습니다.',
    lostTaken: '잠금이 종료된 뒤 {name} 님이 선점했습니다.',
    lostTakenUnknown: '잠금이 종료된 뒤 다른 사용자가 선점했습니다.',
    lostBroken: '{name} 님이 잠금을 강제 해제했습니다.',
    lostBrokenWhy: '{name} 님이 잠금을 강제 해제했습니다: “{why}”',
    lostIdle: '자리를 비우셔서 잠금이 해제되었습니다.',
    lostCap: '최대 선점 시간이 지나 잠금이 해제되었습니다.',
    lostUnconfirmed: '서버에 연결할 수 없고 잠금이 만료되었습니다.',
    lostUnauthorized: '로그아웃되었습니다.',
    lostForbidden: '더 이상 편집 권한이 없습니다.',
    lostUnknown: '잠금이 더 이상 유효하지 않습니다.',
    draftKept: '입력한 내용은 그대로 있습니다. 잠금을 다시 선점하면 저장할 수 있습니다.',
    draftKeptSignedOut: '입력한 내용은 그대로 있습니다. 다른 탭에서 다시 로그인한 뒤 여기에서 잠금을 다시 선점하세요.',
    nowHeldBy: '지금은 {name} 님이 편집하고 있습니다.',
    refused: '{name} 님이 {since}부터 편집하고 있습니다.',
    refusedOwn: '다른 탭이나 창에서 {since}부터 편집하고 있습니다.',
    refusedUntil: '갱신되지 않으면 잠금은 {until}에 만료됩니다.',
    noteOf: '“{note}”',
    waiting: '대기 중입니다.',
    waitingNext: '다음 차례입니다.',
    waitingBehind: '대기 중입니다. 앞에 {ahead}명이 있습니다.',
    free: '이제 편집할 수 있습니다.',
    released: '잠금을 해제했습니다.',
    failed: '잠글 수 없습니다: {why}',
    failedUnauthorized: '로그아웃되었습니다.',
    failedForbidden: '편집 권한이 없습니다.',
    sending: '보내기 전에 서버에 확인하고 있습니다.',
    notSent: '서버에 연결할 수 없어 보내지 못했습니다. 입력한 내용은 그대로 있습니다.',
    turn: '차례가 되었습니다. 최신 내용을 불러옵니다.',
    knocked: '{name} 님이 양보를 요청했습니다: “{message}”',
    knockDefault: '제가 편집해도 될까요?',
    knockSent: '{name} 님에게 요청을 보냈습니다.',
    knockFailed: '요청을 보내지 못했습니다.',
    knockMessage: '{name} 님에게 보낼 메시지',
    needUntil: '5분 더 필요합니다({until}까지)',
    take: '편집 시작',
    retake: '잠금 다시 선점',
    again: '다시 시도',
    wait: '대기',
    stopWaiting: '대기 취소',
    knock: '양보 요청',
    send: '보내기',
    cancel: '취소',
    latest: '최신 내용을 새 탭에서 열기',
    stillHere: '계속 편집하기',
    finish: '마치고 넘겨주기',
    fiveMore: '5분만 더',
  },
};

/** The texts in the language of `element`; in English if that language has no texts. */
export function textsFor(element, own = {}) {
  const language = (element.closest('[lang]')?.lang || navigator.language || 'en').toLowerCase().split('-')[0];
  const known = { ...texts.en, ...texts[language], ...own };
  const locale = language in texts ? language : 'en';
  return {
    locale,
    say: (name, values = {}) => known[name].replace(/\{(\w+)\}/g, (hole, value) => values[value] ?? hole),
    clock: (moment) => clock(new Date(moment), locale),
    minutes: (ms) => minutes(ms, locale),
  };
}

// The time of day, with the date if it is not today.
function clock(moment, locale) {
  const today = new Date().toDateString() === moment.toDateString();
  const day = today ? {} : { month: 'short', day: 'numeric' };
  return new Intl.DateTimeFormat(locale, { ...day, hour: 'numeric', minute: '2-digit' }).format(moment);
}

// "2 min"; in the last minute "45 sec".
function minutes(ms, locale) {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  const [value, unit] = seconds >= 60 ? [Math.ceil(seconds / 60), 'minute'] : [seconds, 'second'];
  return new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'short' }).format(value);
}
