// Makes what is inside an element read-only without taking focus, values or the ability to copy away:
// what can be read-only is, and the rest is held back from changing. A button with data-always, to
// cancel for instance, is left alone.

const textual = 'textarea, input:not([type]), ' +
  ['text', 'search', 'url', 'tel', 'email', 'password', 'number', 'date', 'time', 'datetime-local', 'month', 'week']
    .map((type) => `input[type="${type}" i]`).join(', ');
const chosen = 'select, ' + ['checkbox', 'radio', 'file', 'range', 'color', 'submit', 'image', 'reset']
  .map((type) => `input[type="${type}" i]`).join(', ') + ', button:not([type]), button[type="submit" i], button[type="reset" i]';
const always = '[data-always]';
const harmlessKeys = new Set(['Tab', 'Escape', 'Shift', 'Control', 'Alt', 'Meta']);

export class ReadOnly {
  #root;
  #undo = null;

  constructor(root) {
    this.#root = root;
    for (const type of ['beforeinput', 'click', 'mousedown', 'keydown', 'submit', 'drop', 'paste', 'cut']) {
      root.addEventListener(type, (event) => this.#undo && this.#holdBack(event), { capture: true });
    }
  }

  set(wanted) {
    if (wanted === (this.#undo !== null)) return;
    this.#root.toggleAttribute('read-only', wanted);
    if (!wanted) {
      for (const restore of this.#undo) restore();
      this.#undo = null;
      return;
    }
    this.#undo = [];
    for (const control of this.#root.querySelectorAll(textual)) {
      if (control.readOnly) continue;
      control.readOnly = true;
      this.#undo.push(() => (control.readOnly = false));
    }
    for (const control of this.#root.querySelectorAll(chosen)) {
      if (control.getAttribute('aria-disabled') === 'true' || control.matches(always)) continue;
      control.setAttribute('aria-disabled', 'true');
      this.#undo.push(() => control.removeAttribute('aria-disabled'));
    }
  }

  #holdBack(event) {
    const { type, target } = event;
    if (target === this.#root) return;  // from its own panel
    if ((event.submitter ?? target).closest?.(always)) return;
    if (['beforeinput', 'submit', 'drop', 'paste', 'cut'].includes(type)) return stop(event);
    const control = target.closest?.(chosen) ?? target.closest?.('label')?.control?.closest(chosen);
    if (!control) return;
    // Keys only change things; a click on a button sends, and on the rest changes.
    if (type === 'keydown' && (harmlessKeys.has(event.key) || event.ctrlKey || event.metaKey)) return;
    if (type === 'mousedown' && !control.matches('select, input[type="range" i], input[type="color" i]')) return;
    stop(event);
    if (type === 'mousedown') control.focus();
  }
}

function stop(event) {
  event.preventDefault();
  event.stopPropagation();
}
