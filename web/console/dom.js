// Builds elements. Strings become text, never markup: keys, owners and notes are shown as people wrote
// them and are never run.

const SVG = 'http://www.w3.org/2000/svg';

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'value' || name === 'checked' || name === 'disabled') element[name] = value;
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

// h('a', {href: '#/', class: 'quiet', onclick}, 'text', element, [more])
export const h = (tag, properties, ...children) => fill(document.createElement(tag), properties, children);

export const svg = (tag, properties, ...children) =>
  fill(document.createElementNS(SVG, tag), properties, children);

// Changes the text only if it differs, which keeps a selection and does not disturb screen readers.
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function setAttribute(element, name, value) {
  if (value === null || value === undefined) element.removeAttribute(name);
  else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
}

// Makes `wanted` the children of `parent`, in this order. Does not move elements that are in place, so
// focus and scroll position stay.
export function arrange(parent, wanted) {
  const keep = new Set(wanted);
  for (const child of [...parent.children]) if (!keep.has(child)) child.remove();
  let at = parent.firstElementChild;
  for (const child of wanted) {
    if (child === at) at = at.nextElementSibling;
    else parent.insertBefore(child, at);
  }
}

// Focus that would return to something in `gone` goes to `heir`.
const heirs = new WeakMap();
export function leaveTo(gone, heir) {
  heirs.set(gone, heir);
}
export function placeOf(element) {
  for (let at = element; at; at = at.parentElement) if (heirs.has(at)) return placeOf(heirs.get(at));
  return element;
}

const paths = {
  locks: 'M5 11h14v9H5zM8 11V8a4 4 0 0 1 8 0v3',
  activity: 'M3 12h4l3-8 4 16 3-8h4',
  server: 'M4 5h16v6H4zM4 13h16v6H4zM7.5 8h.01M7.5 16h.01',
  search: 'M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM15.5 15.5 20 20',
  back: 'M14 6l-6 6 6 6',
  next: 'M10 6l6 6-6 6',
  moon: 'M20 14.5A8 8 0 0 1 9.5 4 8 8 0 1 0 20 14.5z',
  sun: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M4.9 4.9l1.4 1.4M17.7 17.7l1.4 1.4M2 12h2M20 12h2M4.9 19.1l1.4-1.4M17.7 6.3l1.4-1.4',
  auto: 'M12 3a9 9 0 1 0 0 18zM12 3a9 9 0 0 1 0 18',
  leave: 'M14 4h5v16h-5M10 8l-4 4 4 4M6 12h9',
  warning: 'M12 4 2.8 20h18.4zM12 10v4M12 17h.01',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  close: 'M6 6l12 12M18 6L6 18',
  clock: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 7v5l3 2',
  people:
    'M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM2.5 20a6.5 6.5 0 0 1 13 0M16 4.5a3.5 3.5 0 0 1 0 6.5M18 14a6.5 6.5 0 0 1 3.5 6',
  break: 'M4 20l6-6M14 10l6-6M8 8l-2-4M8 8 4 6M16 16l2 4M16 16l4 2',
  knock: 'M18 8a6 6 0 1 0-12 0c0 7-2 8-2 8h16s-2-1-2-8M10 20a2 2 0 0 0 4 0',
};

// An icon is decoration: the text beside it or the button's label has the meaning.
export const icon = (name) =>
  svg(
    'svg',
    { class: 'icon', viewBox: '0 0 24 24', 'aria-hidden': 'true', focusable: 'false' },
    svg('path', { d: paths[name] }),
  );
