// The frame around the pages: sign-in, navigation, and the state of the connection.

import { Access } from './access.js';
import { Actions } from './actions.js';
import { Problem, session, Unreachable } from './api.js';
import { arrange, h, icon, setAttribute, setText } from './dom.js';
import { live } from './live.js';
import { activityPage } from './page-activity.js';
import { keyPage } from './page-key.js';
import { locksPage } from './page-locks.js';
import { ownerPage } from './page-owner.js';
import { serverPage } from './page-server.js';
import { tick } from './refresh.js';
import { readHash } from './routes.js';
import { currentLanguage, languages, moment, setLanguage, t } from './words.js';

const pages = {
  locks: locksPage,
  lock: keyPage,
  owner: ownerPage,
  activity: activityPage,
  server: serverPage,
};
const themePlace = 'leasehold.theme';
const themes = ['auto', 'light', 'dark'];

let access = null; // of the token; null before sign-in
let page = null;
let gone = null; // the error while the server does not answer
let fresh = Date.now(); // the time of the last successful reading

// Announcements to screen readers.
const polite = h('div', { class: 'hidden', role: 'status', 'aria-live': 'polite' });
function announce(text, also) {
  polite.textContent = '';
  setTimeout(() => {
    polite.textContent = text;
  }, 50);
  if (also === 'toast') toast(text);
}

const toasts = h('div', { class: 'toasts' });
function toast(text, tone = 'good') {
  const one = h(
    'div',
    { class: `toast ${tone}` },
    icon(tone === 'good' ? 'check' : 'warning'),
    h('span', {}, text),
  );
  toasts.append(one);
  announce(text);
  setTimeout(() => one.remove(), 6_000);
}

// --- the head

const status = h(
  'span',
  { class: 'status', 'data-status': 'connecting' },
  h('i', { class: 'status-dot', 'aria-hidden': 'true' }),
  h('span', { class: 'status-text' }),
);
const banner = h('div', { class: 'banner', role: 'alert', hidden: true });
const main = h('main', { id: 'main', tabindex: '-1' });
const head = h('header', { class: 'top' });

function navigation(current) {
  const link = (name, href) =>
    h('a', { href, 'aria-current': current === name ? 'page' : null }, icon(name), h('span', {}, t(name)));
  return h(
    'nav',
    { class: 'tabs', 'aria-label': t('console') },
    link('locks', '#/'),
    link('activity', '#/activity'),
    link('server', '#/server'),
  );
}

function theme() {
  const name = localStorage.getItem(themePlace);
  return themes.includes(name) ? name : 'auto';
}
function showTheme() {
  setAttribute(document.documentElement, 'data-theme', theme() === 'auto' ? null : theme());
}

function buildHead(current) {
  document.documentElement.lang = currentLanguage();
  const other = currentLanguage() === 'en' ? 'ko' : 'en';
  const names = { auto: 'themeAuto', light: 'themeLight', dark: 'themeDark' };
  const icons = { auto: 'auto', light: 'sun', dark: 'moon' };
  head.replaceChildren(
    h(
      'a',
      { class: 'brand', href: '#/' },
      h('img', { src: '/console/icon.svg', alt: '', width: '26', height: '26' }),
      h('span', {}, 'Leasehold'),
    ),
    access ? navigation(current) : h('span', { class: 'tabs' }),
    h(
      'div',
      { class: 'tools' },
      access ? status : null,
      h(
        'button',
        {
          type: 'button',
          class: 'tool',
          lang: other,
          onclick: () => {
            setLanguage(other);
            show();
            focusTool('language');
          },
          'data-tool': 'language',
        },
        languages[other].language,
      ),
      h(
        'button',
        {
          type: 'button',
          class: 'tool',
          'data-tool': 'theme',
          'aria-label': t('theme', { name: t(names[theme()]) }),
          title: t('theme', { name: t(names[theme()]) }),
          onclick: () => {
            localStorage.setItem(themePlace, themes[(themes.indexOf(theme()) + 1) % themes.length]);
            showTheme();
            buildHead(current);
            focusTool('theme');
          },
        },
        icon(icons[theme()]),
      ),
      session.token
        ? h(
            'button',
            {
              type: 'button',
              class: 'tool',
              'aria-label': t('signOut'),
              title: access?.name ? t('signedInAs', { name: access.name }) : t('signOut'),
              onclick: () => session.signOut(),
            },
            icon('leave'),
          )
        : null,
    ),
  );
  showStatus();
}
const focusTool = (name) => head.querySelector(`[data-tool=${name}]`)?.focus();

// --- the connection

function showStatus() {
  const name = gone ? 'offline' : live.status === 'stopped' && page?.filter === null ? 'live' : live.status;
  setAttribute(status, 'data-status', name);
  status.hidden = name === 'stopped'; // this page shows no data of the server
  setText(status.querySelector('.status-text'), status.hidden ? '' : t(name));
  setAttribute(
    status,
    'title',
    name === 'live' ? t('liveHint') : name === 'polling' ? t('pollingHint') : null,
  );
  const wasGone = !banner.hidden;
  const isGone = name === 'offline';
  document.body.classList.toggle('stale', isGone && access !== null);
  banner.hidden = !isGone;
  if (isGone) {
    const seconds = Math.ceil((live.retryAt - performance.now()) / 1000);
    const text = seconds > 0 && live.status === 'offline' ? t('gone', { seconds }) : t('goneNow');
    if (!wasGone) {
      banner.replaceChildren(
        icon('warning'),
        h('span', { class: 'banner-text' }),
        h('span', { class: 'hint' }, page ? t('stale', { time: moment(fresh) }) : ''),
        h('button', { type: 'button', class: 'button small', onclick: retry }, t('tryNow')),
      );
    }
    setText(banner.querySelector('.banner-text'), text);
  } else if (wasGone && access) {
    toast(t('back'));
  }
}

function retry() {
  live.retry();
  page?.refresh();
  if (!access) begin();
}

live.addEventListener('status', () => {
  if (live.status === 'live' || live.status === 'polling') gone = null;
  showStatus();
});
tick(showStatus);

// A page calls this after each reading, with null if it succeeded.
function report(error) {
  document.querySelector('.unread')?.classList.remove('unread');
  if (!error) {
    gone = null;
    fresh = Date.now();
    document.querySelector('.notice')?.remove();
    return showStatus();
  }
  if (error instanceof Unreachable) {
    gone = error;
    return showStatus();
  }
  if (error instanceof Problem && error.status === 401) return signInPage(true);
  if (error instanceof Problem && error.status === 403) return notAllowed(error);
  const text =
    error instanceof Problem && error.status === 503
      ? t('storeFault', { problem: error.message })
      : t('failed', { problem: error.message });
  const old = document.querySelector('.notice');
  if (old) return setText(old.querySelector('span'), text);
  main.prepend(h('div', { class: 'notice', role: 'alert' }, icon('warning'), h('span', {}, text)));
}
session.addEventListener('problem', ({ detail }) => report(detail));

// --- pages

function leave() {
  page?.stop();
  page = null;
  document.querySelector('dialog[open]')?.close();
}

function put(title, ...content) {
  document.title = `${title} · Leasehold`;
  main.replaceChildren(...content);
}

function signInPage(tried) {
  leave();
  live.stop();
  access = null;
  gone = null;
  const bad = tried && session.token !== null;
  if (bad) session.forget();
  buildHead();
  const input = h('input', {
    id: 'token',
    type: 'password',
    autocomplete: 'off',
    spellcheck: 'false',
    'aria-describedby': 'token-help',
    'aria-invalid': bad ? 'true' : null,
  });
  const problem = h('p', { class: 'problem', role: 'alert', hidden: !bad }, bad ? t('signInBad') : '');
  const form = h(
    'form',
    {
      class: 'card sign-in',
      onsubmit: (event) => {
        event.preventDefault();
        const token = input.value.trim();
        if (token) return session.signIn(token);
        problem.hidden = false;
        setText(problem, t('signInEmpty'));
        input.focus();
      },
    },
    h('img', { src: '/console/icon.svg', alt: '', width: '44', height: '44' }),
    h('h1', {}, t('signIn')),
    h('p', {}, t('signInLead')),
    h(
      'div',
      { class: 'field' },
      h('label', { for: 'token' }, t('token')),
      input,
      h('span', { class: 'hint', id: 'token-help' }, t('signInHelp')),
    ),
    problem,
    h('button', { class: 'button primary', type: 'submit' }, t('signIn')),
  );
  put(t('signIn'), form);
  input.focus();
}

function notAllowed(error) {
  leave();
  live.stop();
  buildHead(readHash(location.hash)?.page);
  const role = error.document.role ?? 'see';
  put(
    t('notAllowed'),
    h(
      'div',
      { class: 'card message' },
      icon('warning'),
      h('h1', { tabindex: '-1' }, t('notAllowed')),
      h('p', {}, t('notAllowedLead', { role })),
      h('p', { class: 'hint' }, error.message),
      h('button', { class: 'button', type: 'button', onclick: () => session.signOut() }, t('signOut')),
    ),
  );
}

function show(focus = false) {
  if (!access) return begin();
  leave();
  const place = readHash(location.hash);
  const tab = { lock: 'locks', owner: 'locks' }[place?.page] ?? place?.page;
  buildHead(tab);
  if (!place) {
    live.stop();
    return put(
      t('notFoundKey'),
      h(
        'div',
        { class: 'card message' },
        h('h1', { tabindex: '-1' }, t('notFoundKey')),
        h('p', {}, t('notFoundLead')),
        h('a', { class: 'button', href: '#/' }, t('toLocks')),
      ),
    );
  }
  const actions = new Actions(access, toast, () => page?.refresh());
  page = pages[place.page]({
    access,
    actions,
    announce,
    report,
    toast,
    names: place.names,
    parameters: place.parameters,
  });
  put(page.title, page.element);
  if (page.filter) live.start(page.filter);
  else live.stop();
  page.start();
  showStatus();
  if (focus) {
    window.scrollTo(0, 0);
    main.querySelector('h1')?.focus({ preventScroll: true });
  }
}

let beginning = null;
async function begin() {
  beginning?.abort();
  const run = (beginning = new AbortController());
  if (!main.firstChild) put(t('console'), h('p', { class: 'loading' }, t('loading')));
  try {
    access = await Access.read(run.signal);
    if (run.signal.aborted) return;
    gone = null;
    show();
  } catch (error) {
    if (run.signal.aborted) return;
    if (error instanceof Problem && (error.status === 401 || error.status === 403)) return signInPage(true);
    gone = error;
    live.retryAt = performance.now() + 3_000;
    buildHead();
    put(
      t('console'),
      h(
        'p',
        { class: 'loading' },
        error instanceof Unreachable ? t('goneNow') : t('failed', { problem: error.message }),
      ),
    );
    showStatus();
    setTimeout(() => beginning === run && begin(), 3_000);
  }
}

session.addEventListener('change', () => {
  leave();
  live.stop();
  access = null;
  main.replaceChildren();
  begin();
});
window.addEventListener('hashchange', () => access && show(true));

showTheme();
buildHead();
document.body.append(
  h(
    'a',
    {
      class: 'skip',
      href: '#main',
      onclick: (event) => {
        event.preventDefault();
        main.focus();
      },
    },
    t('skip'),
  ),
  head,
  banner,
  main,
  toasts,
  polite,
);
begin();
