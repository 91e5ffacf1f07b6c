// Makes the form controls inside an element read-only. Everything can still be focused, read and copied.
// Controls that HTML cannot make read-only ignore input instead. A button with data-always keeps working.

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
    if (target === this.#root) return;  // the element's own panel
    if ((event.submitter ?? target).closest?.(always)) return;
    if (['beforeinput', 'submit', 'drop', 'paste', 'cut'].includes(type)) return stop(event);
    const control = target.closest?.(chosen) ?? target.closest?.('label')?.control?.closest(chosen);
    if (!control) return;
    // Tab, Escape and shortcuts do not change a control; other keys and clicks do.
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
