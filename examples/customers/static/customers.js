// The script of all pages. Without it everything still works with plain forms.
import { tabName } from '/client/leasehold.js';
import '/client/leasehold-guard.js';

// Writes the name of the tab into every form: the tab is the owner of the locks it takes.
function name_tab(tab) {
  for (const field of document.querySelectorAll('input[name=tab]')) field.value = tab;
}

// A page that was served with a lock keeps it. A reload and the back button ask for it with GET and the name of
// this tab. A duplicate of the tab has another name and shows the read-only page.
function keep_lock(guard, tab) {
  const { address } = guard.dataset;
  const named = new URLSearchParams(location.search).get('tab');
  if (named && named !== tab) return location.replace(guard.getAttribute('latest'));
  if (address) history.replaceState(null, '', `${address}?tab=${encodeURIComponent(tab)}`);
  return guard.start();
}

// After the session has ended, sends what was typed to the sign-in page, which passes it on.
function offer_sign_in(notice) {
  const guard = notice.nextElementSibling;
  guard.addEventListener('leasehold-lost', ({ detail }) => (notice.hidden = detail.reason !== 'unauthorized'));
  guard.addEventListener('leasehold-held', () => (notice.hidden = true));
  notice.querySelector('button').addEventListener('click', () => guard.form.submit());
}

function show_local_times() {
  for (const time of document.querySelectorAll('time[datetime]')) {
    const moment = new Date(time.dateTime);
    if (Number.isNaN(moment.valueOf())) continue;
    const today = moment.toDateString() === new Date().toDateString();
    const options = today ? { timeStyle: 'short' } : { dateStyle: 'medium', timeStyle: 'short' };
    time.textContent = moment.toLocaleString(document.documentElement.lang, options);
  }
}

function mark_where_we_are() {
  for (const link of document.querySelectorAll('header nav a')) {
    if (location.pathname.startsWith(link.pathname)) link.setAttribute('aria-current', 'page');
  }
}

// Shows who is editing which customer, while the list is visible.
function keep_marks_fresh(list) {
  const pause = 3000;
  const show = (marks) => {
    for (const mark of list.querySelectorAll('[data-mark]')) {
      const user = marks[mark.dataset.mark];
      const text = user === undefined ? '' : list.dataset.edits.replace('{}', () => user);
      if (mark.textContent !== text) mark.textContent = text;
      mark.classList.toggle('held', user !== undefined);
    }
  };
  const ask = async () => {
    try {
      const answer = await fetch(list.dataset.marks, { cache: 'no-store', redirect: 'error' });
      if (answer.ok) show(await answer.json());
    } catch {
      // The next request may succeed.
    }
  };
  setInterval(() => document.visibilityState === 'visible' && ask(), pause);
  document.addEventListener('visibilitychange', () => document.visibilityState === 'visible' && ask());
}

// A refused person waits in this page. When the person gets the lock, the application opens the form with the
// latest version.
function open_when_held(guard) {
  guard.addEventListener('leasehold-turn', (event) => event.preventDefault());
  guard.addEventListener('leasehold-held', () => guard.form.requestSubmit());
}

// Texts for pages in which nobody edits.
function choose_words(guard) {
  const { held, refused } = guard.dataset;
  guard.texts = { ...(held && { held }), ...(refused && { refused }) };
}

for (const guard of document.querySelectorAll('leasehold-guard')) choose_words(guard);
for (const guard of document.querySelectorAll('leasehold-guard[data-open]')) open_when_held(guard);
const list = document.querySelector('[data-marks]');
if (list) keep_marks_fresh(list);
for (const notice of document.querySelectorAll('[data-signed-out]')) offer_sign_in(notice);
show_local_times();
mark_where_we_are();
const tab = await tabName(document.querySelector('leasehold-guard[data-tab]')?.dataset.tab);
name_tab(tab);
for (const guard of document.querySelectorAll('leasehold-guard[manual]')) void keep_lock(guard, tab);
