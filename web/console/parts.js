// Parts that several pages share.

import { arrange, h, icon } from './dom.js';
import { keyHref, ownerHref } from './routes.js';
import { t } from './words.js';

export const keyWords = ({ type, id }) => [
  h('span', { class: 'key-type' }, type),
  h('span', { class: 'key-slash' }, '/'),
  h('span', { class: 'key-id' }, id),
];

export const keyLink = (key) => h('a', { class: 'key', href: keyHref(key) }, keyWords(key));

export const ownerLink = (owner) =>
  owner
    ? h('a', { href: ownerHref(owner), class: 'owner' }, owner)
    : h('span', { class: 'owner', 'data-anonymous': '' }, t('anonymous'));

// A page below its heading. `under` describes it, `side` has its buttons. The content of a page that
// is `unread` appears once all of it has been read: until then it would move as it fills.
export function page({ fromLocks = false, heading, under = null, side = null, unread = false }, ...content) {
  return h(
    'div',
    { class: unread ? 'page unread' : 'page' },
    h(
      'header',
      { class: 'page-head' },
      h(
        'div',
        { class: 'page-title' },
        fromLocks ? h('a', { class: 'crumb', href: '#/' }, icon('back'), t('locks')) : null,
        heading,
        under,
      ),
      side,
    ),
    ...content,
  );
}

// Buttons of which one is chosen: [[name, text], ...].
export function choice(label, options, chosen, pick) {
  const buttons = options.map(([name, text]) =>
    h(
      'button',
      {
        type: 'button',
        'aria-pressed': String(name === chosen),
        onclick: () => {
          for (const [i, [other]] of options.entries())
            buttons[i].setAttribute('aria-pressed', String(other === name));
          pick(name);
        },
      },
      text,
    ),
  );
  return h('div', { class: 'segments', role: 'group', 'aria-label': label }, buttons);
}

// A table that is hidden while it is empty.
export function plainTable(name, caption, heads, body) {
  return h(
    'table',
    { class: `plain ${name}`, role: 'table', hidden: true },
    h('caption', { class: 'hidden' }, caption),
    h(
      'thead',
      { role: 'rowgroup' },
      h(
        'tr',
        { role: 'row' },
        heads.map((head) => h('th', { scope: 'col', role: 'columnheader' }, t(head))),
      ),
    ),
    body,
  );
}

// Shows items as children of `parent`. Keeps unchanged elements and the focus when the items are read again.
export class Items {
  #parent;
  #nameOf;
  #make;
  #shown = new Map(); // by name: {text, element}

  constructor(parent, nameOf, make) {
    this.#parent = parent;
    this.#nameOf = nameOf;
    this.#make = make;
  }

  show(items) {
    const before = this.#shown;
    let focus = null;
    this.#shown = new Map();
    for (const item of items) {
      const name = this.#nameOf(item);
      const text = JSON.stringify(item);
      const old = before.get(name);
      const element = old?.text === text ? old.element : this.#make(item);
      if (old && old.element !== element && old.element.contains(document.activeElement)) focus = element;
      this.#shown.set(name, { text, element });
    }
    arrange(
      this.#parent,
      [...this.#shown.values()].map(({ element }) => element),
    );
    focus?.querySelector('a')?.focus();
  }
}
