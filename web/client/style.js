// The style of <leasehold-guard>. Every content security policy allows a constructed style sheet. light-dark()
// follows the color-scheme of the page.

const rules = `
:host { display: block; --radius: 0.5rem; }
:host([hidden]) { display: none; }
* { box-sizing: border-box; }
[hidden] { display: none !important; }

section {
  --back: #f1f3f5; --edge: #868e96; --ink: #212529; --mark: #495057;
  margin: 0 0 1rem; padding: 0.625rem 0.875rem;
  border: 1px solid color-mix(in srgb, var(--edge) 55%, transparent);
  border-inline-start: 0.3rem solid var(--edge); border-radius: var(--radius);
  background: var(--back); color: var(--ink);
  font: inherit; line-height: 1.45;
  transition: background-color 0.3s, border-color 0.3s;
}
section[data-tone="good"] { --back: #ebfbee; --edge: #2b8a3e; --mark: #2b8a3e; }
section[data-tone="warn"] { --back: #fff4e0; --edge: #d9680f; --mark: #a34700; }
section[data-tone="bad"] { --back: #fff0f0; --edge: #c92a2a; --mark: #c92a2a; }
section[data-tone="wait"] { --back: #e9f3fd; --edge: #1864ab; --mark: #1864ab; }

.row { display: flex; flex-wrap: wrap; align-items: center; gap: 0.5rem 0.75rem; }
.said { display: flex; flex: 1 1 24rem; align-items: center; gap: 0.75rem; min-width: 0; }
.text { min-width: 0; overflow-wrap: anywhere; }
.text:lang(ko) { word-break: keep-all; }
.text p { margin: 0; font-weight: 600; }
.text .more { font-size: 0.925em; font-weight: inherit; }
svg { flex: none; width: 1.25em; height: 1.25em; fill: none; stroke: var(--mark); stroke-width: 2;
  stroke-linecap: round; stroke-linejoin: round; }
.actions { display: flex; flex-wrap: wrap; align-items: center; gap: 0.5rem; }

.knock, .ask { margin-top: 0.625rem; padding-top: 0.625rem;
  border-top: 1px solid color-mix(in srgb, var(--edge) 40%, transparent); }
.ask { display: flex; flex-wrap: wrap; align-items: end; gap: 0.5rem; }
.ask label { flex: 1 1 14rem; font-size: 0.925em; }
.ask input { display: block; width: 100%; margin-top: 0.2rem; padding: 0.375rem 0.5rem; font: inherit;
  color: inherit; background: var(--field, #fff); border: 1px solid var(--edge); border-radius: 0.375rem; }

button, a { font: inherit; font-size: 0.925em; line-height: 1.3; padding: 0.375rem 0.75rem; border-radius: 0.375rem;
  border: 1px solid var(--mark); background: transparent; color: var(--mark); cursor: pointer; text-decoration: none; }
button.first { background: var(--mark); color: var(--on-mark, #fff); }
a { border-color: transparent; text-decoration: underline; padding-inline: 0.25rem; }
button:hover, a:hover { filter: brightness(0.92); }
:is(button, a, input, .text):focus-visible { outline: 2px solid var(--mark); outline-offset: 2px; }

.told { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }

@supports (color: light-dark(#000, #fff)) {
  section { --back: light-dark(#f1f3f5, #26292d); --edge: light-dark(#868e96, #868e96);
    --ink: light-dark(#212529, #e9ecef); --mark: light-dark(#495057, #ced4da);
    --on-mark: light-dark(#fff, #16181a); --field: light-dark(#fff, #16181a); }
  section[data-tone="good"] { --back: light-dark(#ebfbee, #15291b); --edge: light-dark(#2b8a3e, #37b24d);
    --mark: light-dark(#237032, #69db7c); }
  section[data-tone="warn"] { --back: light-dark(#fff4e0, #33240d); --edge: light-dark(#d9680f, #f59f00);
    --mark: light-dark(#8f3f00, #ffd43b); }
  section[data-tone="bad"] { --back: light-dark(#fff0f0, #381818); --edge: light-dark(#c92a2a, #ff6b6b);
    --mark: light-dark(#b02020, #ff9b9b); }
  section[data-tone="wait"] { --back: light-dark(#e9f3fd, #132638); --edge: light-dark(#1864ab, #4dabf7);
    --mark: light-dark(#1864ab, #8cc8fa); }
}

@media (prefers-reduced-motion: reduce) { section { transition: none; } }
@media (forced-colors: active) { button.first { border-width: 2px; } }
@media print { section { display: none; } }
`;

// The look of read-only controls. :where() has no specificity, so the rules of the page win.
const outside = `
:where(leasehold-guard[read-only]) :where(input, textarea, select):where([readonly], [aria-disabled="true"]) {
  background-color: color-mix(in srgb, currentColor 7%, transparent);
  border-style: solid; border-color: color-mix(in srgb, currentColor 30%, transparent); cursor: not-allowed;
}
:where(leasehold-guard[read-only]) :where(button, input[type="submit"]):where([aria-disabled="true"]) {
  opacity: 0.6; cursor: not-allowed;
}
`;

function constructed(text) {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(text);
  return sheet;
}

let sheet;

export function dress(root) {
  if (!sheet) {
    sheet = constructed(rules);
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, constructed(outside)];
  }
  root.adoptedStyleSheets = [sheet];
}
