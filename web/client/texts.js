// What <leasehold-guard> says. {name} and the like are filled in. Korean names are followed by 님, so
// that no particle depends on how a name ends.

export const texts = {
  en: {
    label: 'Who is editing this',
    you: 'you',
    somebody: 'somebody',
    asking: 'One moment: asking whether this is free.',
    unreachable: 'The server cannot be reached. Trying again.',
    held: 'You are editing this. Nobody else can change it meanwhile.',
    heldStale: 'It is yours again, but others had it in between. Compare with the latest before you save.',
    expiringUnconfirmed: 'The server does not answer. This stays yours for another {left}.',
    expiringIdle: 'Are you still there? Without a sign of you this is let go in {left}. What you typed stays here.',
    expiringCap: 'This has been yours for a long time and is let go in {left}. Save what you have.',
    lost: 'This is no longer yours.',
    lostExpired: 'Your time was up.',
    lostReleased: 'This was let go elsewhere.',
    lostTaken: '{name} has taken it over after your time was up.',
    lostTakenUnknown: 'Somebody has taken it over after your time was up.',
    lostBroken: '{name} has ended your edit.',
    lostBrokenWhy: '{name} has ended your edit: “{why}”',
    lostIdle: 'You were away, so this was let go.',
    lostCap: 'This was yours for as long as it may be, and was let go.',
    lostUnconfirmed: 'The server cannot be reached, and your time is up.',
    lostUnknown: 'This is no longer yours.',
    draftKept: 'What you typed is still here, and cannot be saved until you have it again.',
    nowHeldBy: '{name} is editing it now.',
    refused: '{name} has been editing this since {since}.',
    refusedOwn: 'You are editing this in another tab or window, since {since}.',
    noteOf: '“{note}”',
    waiting: 'You are in line.',
    waitingNext: 'You are next.',
    waitingBehind: 'You are in line, {ahead} before you.',
    free: 'This is free now.',
    released: 'You have let go of this.',
    failed: 'This cannot be locked: {why}',
    turn: 'It is your turn. Loading the latest.',
    knocked: '{name} would like to edit this: “{message}”',
    knockDefault: 'May I edit this?',
    knockSent: '{name} has been asked.',
    knockFailed: 'The message could not be sent.',
    knockMessage: 'Message to {name}',
    needUntil: 'needs five more minutes, until {until}',
    take: 'Start editing',
    retake: 'Take it again',
    wait: 'Wait in line',
    stopWaiting: 'Stop waiting',
    knock: 'Ask for it',
    send: 'Send',
    cancel: 'Cancel',
    latest: 'Open the latest in a new tab',
    stillHere: 'I am still here',
    finish: 'Finish and hand over',
    fiveMore: 'Five more minutes',
  },
  ko: {
    label: '편집 중인 사람',
    you: '나',
    somebody: '누군가',
    asking: '비어 있는지 확인하고 있습니다.',
    unreachable: '서버에 연결할 수 없습니다. 다시 시도하고 있습니다.',
    held: '편집 중입니다. 그동안 다른 사람은 바꿀 수 없습니다.',
    heldStale: '다시 편집할 수 있지만 그사이 다른 사람이 편집했습니다. 저장하기 전에 최신 내용과 비교하세요.',
    expiringUnconfirmed: '서버가 응답하지 않습니다. 앞으로 {left} 동안은 계속 편집할 수 있습니다.',
    expiringIdle: '아직 계신가요? 아무 동작이 없으면 {left} 뒤에 편집 잠금이 풀립니다. 입력한 내용은 그대로 남습니다.',
    expiringCap: '오랫동안 편집하셨습니다. {left} 뒤에 편집 잠금이 풀립니다. 지금까지의 내용을 저장하세요.',
    lost: '더 이상 편집할 수 없습니다.',
    lostExpired: '시간이 다 되었습니다.',
    lostReleased: '다른 곳에서 편집 잠금을 풀었습니다.',
    lostTaken: '시간이 다 되어 {name} 님이 이어받았습니다.',
    lostTakenUnknown: '시간이 다 되어 다른 사람이 이어받았습니다.',
    lostBroken: '{name} 님이 편집을 끝냈습니다.',
    lostBrokenWhy: '{name} 님이 편집을 끝냈습니다: “{why}”',
    lostIdle: '자리를 비우셔서 편집 잠금이 풀렸습니다.',
    lostCap: '편집할 수 있는 최대 시간이 지나 편집 잠금이 풀렸습니다.',
    lostUnconfirmed: '서버에 연결할 수 없고 시간이 다 되었습니다.',
    lostUnknown: '더 이상 편집할 수 없습니다.',
    draftKept: '입력한 내용은 그대로 있으며, 다시 편집을 시작해야 저장할 수 있습니다.',
    nowHeldBy: '지금은 {name} 님이 편집하고 있습니다.',
    refused: '{name} 님이 {since}부터 편집하고 있습니다.',
    refusedOwn: '다른 탭이나 창에서 {since}부터 직접 편집하고 있습니다.',
    noteOf: '“{note}”',
    waiting: '차례를 기다리고 있습니다.',
    waitingNext: '다음 차례입니다.',
    waitingBehind: '차례를 기다리고 있습니다. 앞에 {ahead}명이 있습니다.',
    free: '이제 비어 있습니다.',
    released: '편집을 마쳤습니다.',
    failed: '잠글 수 없습니다: {why}',
    turn: '차례가 되었습니다. 최신 내용을 불러옵니다.',
    knocked: '{name} 님이 편집하고 싶어 합니다: “{message}”',
    knockDefault: '제가 편집해도 될까요?',
    knockSent: '{name} 님에게 알렸습니다.',
    knockFailed: '메시지를 보내지 못했습니다.',
    knockMessage: '{name} 님에게 보낼 메시지',
    needUntil: '5분 더 필요, {until}까지',
    take: '편집 시작',
    retake: '다시 편집하기',
    wait: '차례 기다리기',
    stopWaiting: '그만 기다리기',
    knock: '요청하기',
    send: '보내기',
    cancel: '취소',
    latest: '최신 내용을 새 탭에서 열기',
    stillHere: '아직 있습니다',
    finish: '마치고 넘겨주기',
    fiveMore: '5분만 더',
  },
};

/** The texts of the language that `element` is in, English where there is none. */
export function textsFor(element, own = {}) {
  const language = (element.closest('[lang]')?.lang || navigator.language || 'en').toLowerCase().split('-')[0];
  const known = { ...texts.en, ...texts[language], ...own };
  const locale = language in texts ? language : 'en';
  return {
    locale,
    say: (name, values = {}) => known[name].replace(/\{(\w+)\}/g, (hole, value) => values[value] ?? hole),
    clock: (moment) => clock(new Date(moment), locale),
    minutes,
  };
}

// The time of a day, with the day if it is another one.
function clock(moment, locale) {
  const today = new Date().toDateString() === moment.toDateString();
  const day = today ? {} : { month: 'short', day: 'numeric' };
  return new Intl.DateTimeFormat(locale, { ...day, hour: 'numeric', minute: '2-digit' }).format(moment);
}

function minutes(ms) {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}
