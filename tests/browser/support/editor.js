// A small application with one form in a <leasehold-guard>, and people who work with it.

import { person } from './people.js';
import { startServer } from './server.js';
import { startSite } from './site.js';

const css = `
  :root { color-scheme: light dark; }
  body { margin: 2rem auto; max-width: 44rem; padding: 0 1rem; font: 16px/1.5 system-ui, sans-serif; }
  label { display: block; margin: 0.75rem 0; }
  input, textarea, select { display: block; width: 100%; box-sizing: border-box; padding: 0.5rem; font: inherit; }
  input[type=checkbox] { display: inline-block; width: auto; }
`;

const escaped = (text) =>
  String(text).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

function form({ name, notes, attributes, lockId, lang }) {
  const words = Object.entries(attributes).map(([key, value]) => ` ${key}="${escaped(value)}"`).join('');
  const field = lockId ? `<input type="hidden" name="lock_id" value="${escaped(lockId)}">` : '';
  return `<!doctype html><html lang="${lang}"><meta charset="utf-8"><title>Customer 7</title>
    <meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/editor.css">
    <script type="module" src="/client/leasehold-guard.js"></script>
    <main><h1>Customer 7</h1>
    <leasehold-guard${words}>
      <form method="post" action="/save">${field}
        <label>Name <input name="name" value="${escaped(name)}"></label>
        <label>Notes <textarea name="notes" rows="3">${escaped(notes)}</textarea></label>
        <label>Country <select name="country"><option>Ghana<option>Korea<option>Peru</select></label>
        <label><input type="checkbox" name="vip"> important</label>
        <button>Save</button>
      </form>
    </leasehold-guard></main></html>`;
}

/** The server, the application, and `open(name, attributes)` for a person at its form. */
export async function startEditor(t, { server: serverOptions, attributes = {}, lang = 'en', browser } = {}) {
  const server = await startServer(t, serverOptions);
  const site = await startSite(t, server);
  const record = { name: 'Ama Boateng', notes: 'Pays on time.' };
  const editor = { server, site, record, saved: [] };
  const common = { 'key-type': 'Customer', 'key-id': '7', 'check-every': '200ms', ...attributes };

  const edit = (request) => {
    const query = new URL(request.url, 'http://site').searchParams;
    const { owner, as = lang, ...own } = Object.fromEntries(query);
    return form({ ...record, lang: as, attributes: { owner, ...common, ...own } });
  };
  // Like an application: checks the lock, writes the record, releases the lock.
  const save = async (request) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const sent = Object.fromEntries(new URLSearchParams(body));
    const token = { 'Lock-Token': sent.lock_id };
    const alive = await server.ask('GET', editor.path, undefined, token);
    if (alive.status !== 200) return `<!doctype html><title>Refused</title><p>not saved: ${escaped(alive.reason)}`;
    Object.assign(record, { name: sent.name, notes: sent.notes });
    editor.saved.push(alive.owner.split('/')[0]);
    await server.ask('DELETE', editor.path, undefined, token);
    return `<!doctype html><title>Saved</title><p>saved by ${escaped(alive.owner.split('/')[0])}`;
  };
  site.pages = { '/edit': edit, '/save': save, '/editor.css': css, '/elsewhere': '<!doctype html><title>Elsewhere</title>' };

  editor.path = '/v1/locks/Customer/7';
  editor.lock = () => server.ask('GET', editor.path);
  editor.holders = async () => (await editor.lock()).holders.map(({ owner }) => owner.split('/')[0]);
  editor.url = (owner, own = {}) => `${site.url}/edit?${new URLSearchParams({ owner, ...own })}`;
  editor.open = async (owner, own, options) => {
    const context = await person(t, { browser, ...options });
    await context.page.goto(editor.url(owner, own));
    return at(context.page, context);
  };
  return editor;
}

/** What a person sees and does in the form. */
export function at(page, context = page.context()) {
  const panel = page.locator('leasehold-guard section');
  return {
    page,
    context,
    panel,
    name: page.getByLabel('Name'),
    notes: page.getByLabel('Notes'),
    button: (label) => panel.getByRole('button', { name: label, exact: true }),
    save: (options) => page.getByRole('button', { name: 'Save' }).click(options),
    /** Waits until the panel says this. */
    reads: (text) => panel.locator('.text', { hasText: text }).first().waitFor(),
    /** Waits for a state of the guard; 'held' by a page that is about to be loaded again does not count. */
    is: (state) => page
      .locator(`leasehold-guard${state === 'held' ? ':not([read-only])' : ''} section[data-state="${state}"]`)
      .waitFor({ state: 'attached' }),
    /** Of the guard in the page: guard('lease.fence'). */
    guard: (what) => page.evaluate(
      (path) => path.split('.').reduce((value, name) => value?.[name], document.querySelector('leasehold-guard').guard),
      what),
  };
}
