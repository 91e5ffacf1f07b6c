// Actions on leases: break one, ask for one, release all of an owner. Each dialog shows exactly what it
// will do.

import { ask, get, lockPath, Problem, query, segment } from './api.js';
import { h, icon, placeOf, setAttribute, setText } from './dom.js';
import { live } from './live.js';
import { tick } from './refresh.js';
import { TimeLeft } from './time-left.js';
import { keyName, moment, number, ownerName, t } from './words.js';

const namePlace = 'leasehold.name';

// A modal dialog around a form. It closes if `submit` resolves to true.
function openDialog({ title, body, confirm, danger = false, submit, onClose = () => {} }) {
  const problem = h('p', { class: 'problem', role: 'alert', hidden: true });
  const button = h('button', { class: danger ? 'button danger' : 'button primary', type: 'submit' }, confirm);
  const heading = h('h2', { id: 'dialog-title', tabindex: '-1' }, title);
  const form = h(
    'form',
    { novalidate: true },
    heading,
    body,
    problem,
    h(
      'div',
      { class: 'dialog-buttons' },
      h('button', { class: 'button', type: 'button', onclick: () => dialog.close() }, t('cancel')),
      button,
    ),
  );
  const dialog = h('dialog', { class: 'dialog', 'aria-labelledby': 'dialog-title' }, form);
  const say = (text) => {
    problem.hidden = !text;
    setText(problem, text ?? '');
  };
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    if (button.getAttribute('aria-busy') === 'true') return;
    button.setAttribute('aria-busy', 'true');
    say(null);
    try {
      const done = await submit(say);
      if (done) dialog.close();
    } catch (error) {
      say(t('failed', { problem: error.message }));
    } finally {
      button.removeAttribute('aria-busy');
    }
  });
  dialog.addEventListener('close', () => {
    dialog.remove();
    // The button that opened the dialog may be gone.
    if (document.activeElement === document.body) placeOf(opener)?.focus();
    if (document.activeElement === document.body) document.querySelector('main h1')?.focus();
    onClose();
  });
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog) dialog.close();
  });
  const opener = document.activeElement;
  document.body.append(dialog);
  dialog.showModal();
  return { dialog, say, button };
}

// `more` is shown beside the hint.
function field(label, hint, input, more = null) {
  const id = `field-${Math.random().toString(36).slice(2)}`;
  input.id = id;
  const help = hint || more ? h('span', { class: 'hint', id: `${id}-hint` }, hint, more) : null;
  if (help) input.setAttribute('aria-describedby', help.id);
  return h('div', { class: 'field' }, h('label', { for: id }, label), input, help);
}

const textBytes = 1024; // the server's limit for a reason and for a message, in UTF-8

// Shows below an input how much more of its text the server accepts. `excess` is in bytes.
class Room {
  #input;
  element = h('span', { class: 'room' });

  constructor(input) {
    this.#input = input;
    input.addEventListener('input', () => this.#show());
    this.#show();
  }

  get excess() {
    return new TextEncoder().encode(this.#input.value.trim()).length - textBytes;
  }

  // Complains and returns false if the text is too long.
  check(complain) {
    if (this.excess <= 0) return true;
    this.#input.focus();
    complain(t('tooLong', { n: number(this.excess) }));
    return false;
  }

  #show() {
    const { excess } = this;
    setText(this.element, excess > 0 ? t('bytesOver', { n: number(excess) }) : t('bytesLeft', { n: number(-excess) }));
    setAttribute(this.#input, 'aria-invalid', excess > 0 ? 'true' : null);
  }
}

// The facts about a lease as a list.
export function leaseFacts(lease, time = null) {
  const fact = (name, ...value) => [h('dt', {}, name), h('dd', {}, ...value)];
  return h(
    'dl',
    { class: 'facts' },
    fact(t('key'), h('strong', { class: 'key-text' }, keyName(lease))),
    fact(t('holder'), ownerName(lease.owner)),
    fact(t('fence'), `#${lease.fence}`),
    fact(t('mode'), t(lease.mode)),
    fact(t('granted'), moment(lease.granted_at)),
    time
      ? fact(t('timeLeft'), time)
      : fact(t('expires'), lease.expires_at ? moment(lease.expires_at) : t('untilReleased')),
    lease.note ? fact(t('note'), lease.note) : [],
  );
}

export class Actions {
  #access;
  #toast;
  #done;

  // `done()` is called after a change.
  constructor(access, toast, done) {
    this.#access = access;
    this.#toast = toast;
    this.#done = done;
  }

  // A button that cannot be used tells why. It can still be focused, so that screen readers announce it.
  #button(label, iconName, why, open, size = '') {
    const button = h(
      'button',
      {
        type: 'button',
        class: `button ${size}`,
        'aria-disabled': why ? 'true' : null,
        title: why,
        onclick: () => (why ? this.#toast(why, 'warning') : open()),
      },
      iconName ? icon(iconName) : null,
      h('span', {}, label),
    );
    return button;
  }

  breakButton(lease, size) {
    const why = this.#access.can('break') ? null : t('needsBreak');
    return this.#button(t('breakLease'), size ? null : 'break', why, () => this.openBreak(lease()), size);
  }

  knockButton(key) {
    const why = this.#access.can('use') ? null : t('needsUseKnock');
    return this.#button(t('knock'), 'knock', why, () => this.openKnock(key));
  }

  releaseAllButton(owner) {
    const why = !this.#access.can('use')
      ? t('needsUse')
      : !this.#access.speaksFor(owner)
        ? t('needsOwner', { owner: this.#access.owner })
        : null;
    return this.#button(t('releaseAll'), null, why, () => this.openReleaseAll(owner), 'danger-quiet');
  }

  openBreak(lease) {
    const time = new TimeLeft();
    time.update(lease);
    const reason = h('input', { type: 'text', required: true, autocomplete: 'off' });
    const room = new Room(reason);
    const name = h('input', {
      type: 'text',
      maxlength: '100',
      autocomplete: 'name',
      value: sessionStorage.getItem(namePlace) ?? '',
    });
    const named = this.#access.name !== null;
    const stopTicking = tick(() => time.tick());
    const preview = h('div', { class: 'preview' }, leaseFacts(lease, time.element));
    const { say, button } = openDialog({
      title: t('breakTitle'),
      body: [
        h('p', {}, t('breakLead')),
        preview,
        field(t('reason'), t('reasonHint'), reason, room.element),
        named
          ? h('p', { class: 'hint' }, t('signedInAs', { name: this.#access.name }))
          : field(t('byName'), t('byHint'), name),
      ],
      confirm: t('breakConfirm'),
      danger: true,
      onClose: () => {
        stopTicking();
        live.removeEventListener('change', onChange);
      },
      submit: async (complain) => {
        if (!reason.value.trim()) {
          reason.focus();
          return complain(t('reasonMissing'));
        }
        if (!room.check(complain)) return false;
        if (!named && !name.value.trim()) {
          name.focus();
          return complain(t('nameMissing'));
        }
        const body = { fence: lease.fence, reason: reason.value.trim() };
        if (!named) {
          body.by = name.value.trim();
          sessionStorage.setItem(namePlace, body.by);
        }
        try {
          await ask('POST', `${lockPath(lease)}/break`, { body });
        } catch (error) {
          if (!(error instanceof Problem) || error.status !== 410) throw error;
          ended(error.document.reason ?? 'unknown');
          return false;
        }
        this.#toast(t('brokenDone', { key: keyName(lease), owner: ownerName(lease.owner) }));
        this.#done();
        return true;
      },
    });
    const ended = (how) => {
      preview.classList.add('over');
      setAttribute(button, 'disabled', '');
      say(t('breakGone', { how: t(how) }));
    };
    const onChange = ({ detail: event }) => {
      if (event.type !== lease.type || event.id !== lease.id || event.fence !== lease.fence) return;
      if (event.event === 'granted' || event.event === 'knocked') return;
      if (event.event === 'extended') time.update(event);
      else if (button.getAttribute('aria-busy') !== 'true') ended(event.event);
    };
    live.addEventListener('change', onChange);
    reason.focus();
  }

  openKnock(key) {
    const message = h('input', { type: 'text', placeholder: t('messageHint'), autocomplete: 'off' });
    const room = new Room(message);
    const name = h('input', {
      type: 'text',
      maxlength: '100',
      autocomplete: 'name',
      value: sessionStorage.getItem(namePlace) ?? this.#access.owner ?? this.#access.name ?? '',
    });
    openDialog({
      title: t('knockTitle'),
      body: [
        h('p', { class: 'dialog-key' }, keyName(key)),
        h('p', {}, t('knockLead')),
        field(t('byName'), null, name),
        field(t('message'), null, message, room.element),
      ],
      confirm: t('send'),
      submit: async (complain) => {
        if (!name.value.trim()) {
          name.focus();
          return complain(t('nameMissing'));
        }
        if (!room.check(complain)) return false;
        sessionStorage.setItem(namePlace, name.value.trim());
        const body = { owner: name.value.trim(), message: message.value.trim() || t('messageHint') };
        try {
          const { holders } = await ask('POST', `${lockPath(key)}/knock`, { body });
          this.#toast(t('knocked', { n: number(holders.length) }));
        } catch (error) {
          if (!(error instanceof Problem) || error.code !== 'not_held') throw error;
          this.#toast(t('knockedNobody'));
        }
        return true;
      },
    });
    message.focus();
  }

  async openReleaseAll(owner) {
    const shown = 8;
    let page;
    try {
      page = await get(`/v1/locks${query({ owner, scope: 'below', limit: 1000 })}`);
    } catch (error) {
      return this.#toast(t('failed', { problem: error.message }), 'warning');
    }
    const count = page.locks.length;
    const n = page.next ? t('atLeast', { n: number(count) }) : number(count);
    if (count === 0) return this.#toast(t('releaseAllNothing'));
    const confirm = h('input', { type: 'text', autocomplete: 'off', spellcheck: 'false' });
    openDialog({
      title: t('releaseAllTitle', { owner }),
      body: [
        h('p', {}, t('releaseAllLead')),
        this.#access.can('break') ? null : h('p', {}, t('releaseAllOwn')),
        h(
          'div',
          { class: 'preview' },
          h('p', {}, t('releaseAllCount', { n })),
          h(
            'ul',
            { class: 'preview-list' },
            page.locks
              .slice(0, shown)
              .map((lease) =>
                h(
                  'li',
                  {},
                  h('strong', {}, keyName(lease)),
                  ' ',
                  h('span', { class: 'hint' }, ownerName(lease.owner)),
                ),
              ),
            count > shown
              ? h(
                  'li',
                  { class: 'hint' },
                  t('releaseAllMore', {
                    n: page.next ? t('atLeast', { n: number(count - shown) }) : number(count - shown),
                  }),
                )
              : null,
          ),
        ),
        field(`${t('confirmWord')}: ${owner}`, null, confirm),
      ],
      confirm: t('releaseAllConfirm', { n }),
      danger: true,
      submit: async (complain) => {
        if (confirm.value !== owner) {
          confirm.focus();
          return complain(`${t('confirmWord')}: ${owner}`);
        }
        const answer = await ask('DELETE', `/v1/owners/${segment(owner)}/locks?scope=below`);
        this.#toast(t('releasedAll', { n: number(answer.leases?.length ?? 0) }));
        this.#done();
        return true;
      },
    });
    confirm.focus();
  }
}
