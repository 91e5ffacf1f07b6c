// <leasehold-guard>: what it shows, what it prevents, and what screen readers announce.

import assert from 'node:assert/strict';
import { problemsInLightAndDark } from './support/accessibility.js';
import { at, startEditor } from './support/editor.js';
import { person, picture } from './support/people.js';
import { sideBySide } from './support/side_by_side.js';
import { eventually } from './support/waiting.js';

const test = sideBySide(3);

async function breakIt(editor, by = 'admin', reason = 'maintenance') {
  const { holders: [{ fence }] } = await editor.lock();
  await editor.server.ask('POST', editor.path + '/break', { fence, by, reason });
}

test('a lock that somebody else held in between is not taken again over their work', async (t) => {
  const editor = await startEditor(t);
  const alice = await editor.open('alice');
  await alice.is('held');
  await alice.notes.fill('mine');
  await breakIt(editor);
  await alice.reads('admin broke your lock: “maintenance”');
  const bob = await editor.open('bob');
  await bob.is('held');
  await bob.notes.fill('his');
  await bob.save();
  await bob.page.getByText('saved by bob').waitFor();
  await alice.button('Take the lock again').click();
  await alice.reads('Your lock ended, and bob took it.');
  assert.equal(await alice.notes.inputValue(), 'mine');
  assert.equal(await alice.notes.isEditable(), false);
  const latest = alice.panel.getByRole('link', { name: 'Open the latest version in a new tab' });
  const [other] = await Promise.all([alice.context.waitForEvent('page'), latest.click()]);
  await at(other).notes.waitFor();
  assert.equal(await at(other).notes.inputValue(), 'his');
});

test('the holder sees a break, with who and why', async (t) => {
  const editor = await startEditor(t);
  const alice = await editor.open('alice');
  await alice.is('held');
  await breakIt(editor, 'carol', 'payroll runs tonight');
  await alice.reads('carol broke your lock: “payroll runs tonight”');
  assert.equal(await alice.notes.isEditable(), false);
  assert.match(await alice.panel.getByRole('alert').textContent(), /payroll runs tonight/);
});

test('a read-only form does not change, and everything can be focused and copied', async (t) => {
  const editor = await startEditor(t);
  const alice = await editor.open('alice');
  await alice.is('held');
  const bob = await editor.open('bob');
  await bob.is('refused');
  const { page } = bob;
  const country = page.getByLabel('Country');
  const important = page.getByLabel('important');
  await bob.name.click();
  await page.keyboard.type('x');
  await page.keyboard.press('Tab');
  await page.keyboard.type('y');
  await page.keyboard.press('Tab');
  assert.equal(await country.evaluate((select) => select === document.activeElement), true);
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Tab');
  assert.equal(await important.evaluate((box) => box === document.activeElement), true);
  await page.keyboard.press('Space');
  await page.getByText('important').click({ force: true });
  await bob.save({ force: true });
  await page.keyboard.press('Enter');
  assert.equal(await bob.name.inputValue(), 'Ama Boateng');
  assert.equal(await bob.notes.inputValue(), 'Pays on time.');
  assert.equal(await country.inputValue(), 'Ghana');
  assert.equal(await important.isChecked(), false);
  assert.equal(await bob.name.isEnabled(), true);

  await alice.page.evaluate(() => document.querySelector('leasehold-guard').guard.release());
  await bob.reads('This is free now.');
  await bob.button('Start editing').click();
  await bob.is('held');
  await bob.name.fill('Ama Owusu');
  await country.selectOption('Peru');
  await important.check();
  await bob.save();
  await page.getByText('saved by bob').waitFor();
  assert.equal(editor.record.name, 'Ama Owusu');
  assert.deepEqual(editor.saved, ['bob'], 'once, and not before');
});

test('controls that the page made read-only stay read-only', async (t) => {
  const editor = await startEditor(t);
  const alice = await editor.open('alice');
  await alice.is('held');
  await alice.name.evaluate((input) => (input.readOnly = true));
  await breakIt(editor);
  await alice.is('lost');
  await alice.button('Take the lock again').click();
  await alice.is('held');
  assert.equal(await alice.name.isEditable(), false);
  assert.equal(await alice.notes.isEditable(), true);
});

test('the form gets the lock id, and a lock id in the form is kept', async (t) => {
  const editor = await startEditor(t);
  const alice = await editor.open('alice');
  await alice.is('held');
  const field = alice.page.locator('input[name=lock_id]');
  assert.equal(await field.inputValue(), await alice.guard('lockId'));

  const { lock_id: lockId, fence } = await editor.server.ask('POST', '/v1/locks/Customer/8', { owner: 'bob' });
  const bob = await person(t);
  editor.site.pages['/eight'] = `<!doctype html><html lang="en"><title>8</title>
    <script type="module" src="/client/leasehold-guard.js"></script>
    <leasehold-guard key-type="Customer" key-id="8"><form method="post" action="/save">
    <input type="hidden" name="lock_id" value="${lockId}"><input name="name" aria-label="Name"></form></leasehold-guard>`;
  await bob.page.goto(editor.site.url + '/eight');
  await at(bob.page).is('held');
  assert.equal(await at(bob.page).guard('lease.fence'), fence);
});

test('an idle person is warned, can stay, and later loses the lock but not the draft', async (t) => {
  const editor = await startEditor(t, { attributes: { 'idle-after': '8s', 'idle-warning': '7s' } });
  const alice = await editor.open('alice');
  await alice.notes.fill('half of it');
  await alice.reads(/You seem to be away\. The lock will be released in [1-7] sec\./);
  await alice.page.evaluate(() => document.addEventListener('leasehold-held', () => (window.stays = true)));
  await alice.button('I am still here').click();
  await alice.page.waitForFunction(() => window.stays);
  await alice.reads('You seem to be away.');
  await alice.reads('You were away, so your lock was released.');
  assert.equal(await alice.notes.inputValue(), 'half of it');
  assert.deepEqual(await editor.holders(), []);
  await alice.button('Take the lock again').click();
  await alice.is('held');
});

test('focus is not lost when buttons disappear', async (t) => {
  const editor = await startEditor(t);
  const alice = await editor.open('alice');
  await alice.is('held');
  await alice.notes.focus();
  await breakIt(editor);
  await alice.is('lost');
  assert.equal(await alice.notes.evaluate((area) => area === document.activeElement), true);
  // With the keyboard only: back to the panel, and on.
  const retake = alice.button('Take the lock again');
  await retake.focus();
  await alice.page.keyboard.press('Enter');
  await alice.is('held');
  const inside = await alice.page.evaluate(() => document.activeElement?.localName);
  assert.equal(inside, 'leasehold-guard', 'what replaced the button has the focus');
});

test('screen readers announce a change once, and urgent ones at once', async (t) => {
  const editor = await startEditor(t);
  const alice = await editor.open('alice');
  await alice.is('held');
  assert.match(await alice.panel.getByRole('status').textContent(), /You are editing this/);
  await breakIt(editor);
  await alice.is('lost');
  assert.match(await alice.panel.getByRole('alert').textContent(), /admin broke your lock/);
  assert.equal(await alice.panel.getByRole('status').textContent(), '');
});

test('screen readers do not announce the renewals of others', async (t) => {
  const editor = await startEditor(t, { attributes: { ttl: '10s', 'renew-every': '300ms' } });
  const alice = await editor.open('alice');
  await alice.is('held');
  const bob = await editor.open('bob');
  await bob.is('refused');
  await bob.page.evaluate(() => {
    window.told = 0;
    document.addEventListener('leasehold-refused', () => ++window.told);
    const root = document.querySelector('leasehold-guard').shadowRoot;
    window.said = [];
    new MutationObserver((changes) => changes.forEach(({ target }) => window.said.push(target.textContent)))
      .observe(root.querySelector('[role=status]'), { childList: true, characterData: true, subtree: true });
  });
  await bob.reads('The lock expires at');
  await bob.page.waitForFunction(() => window.told >= 3);
  assert.deepEqual(await bob.page.evaluate(() => window.said), []);
});

test('an element that is moved or restarted with another key takes a new lease', async (t) => {
  const editor = await startEditor(t);
  const alice = await editor.open('alice');
  await alice.is('held');
  const first = await alice.guard('lease.fence');
  await alice.page.evaluate(() => {
    const element = document.querySelector('leasehold-guard');
    window.place = element.parentNode;
    window.moved = element;
    element.remove();
  });
  await eventually(async () => (await editor.holders()).length === 0);
  await alice.page.evaluate(() => window.place.append(window.moved));
  await alice.is('held');
  assert.ok((await alice.guard('lease.fence')) > first);

  await alice.page.evaluate(() => {
    const element = document.querySelector('leasehold-guard');
    element.setAttribute('key-id', '8');
    return element.start();
  });
  assert.equal(await alice.guard('state'), 'held');
  assert.equal(await alice.guard('lease.id'), '8');
  assert.equal(await alice.page.locator('input[name=lock_id]').inputValue(), await alice.guard('lockId'));
  assert.deepEqual(await editor.holders(), []);

  // A restart with the same key does not release the lease that it has just taken.
  await alice.page.evaluate(() => document.querySelector('leasehold-guard').start());
  const { holders } = await editor.server.ask('GET', '/v1/locks/Customer/8');
  assert.deepEqual(holders.map(({ fence }) => fence), [await alice.guard('lease.fence')]);
});

test('a form is not sent while the server does not answer', async (t) => {
  const editor = await startEditor(t);
  const alice = await editor.open('alice');
  await alice.is('held');
  await alice.notes.fill('a long text');
  await alice.context.setOffline(true);
  // Chromium sets navigator.onLine before requests begin to fail.
  await alice.page.waitForFunction(() => fetch('/offline').then(() => false, () => true));
  await alice.save();
  await alice.reads('Not sent: the server cannot be reached. What you typed is still here.');
  assert.match(await alice.panel.getByRole('alert').textContent(), /^Not sent/);
  assert.equal(await alice.notes.inputValue(), 'a long text');
  assert.deepEqual(editor.saved, []);
  await alice.context.setOffline(false);
  await alice.panel.locator('.text', { hasText: 'Not sent' }).waitFor({ state: 'detached' });
  await alice.save();
  await alice.page.getByText('saved by alice').waitFor();
  assert.equal(editor.record.notes, 'a long text');
});

// Nobody has told these pages that anything is wrong: they find out when the person saves.
const rarely = { 'check-every': '1h' };

test('a form is not sent if the server has just stopped answering', async (t) => {
  const editor = await startEditor(t, { attributes: rarely });
  const alice = await editor.open('alice');
  await alice.is('held');
  await alice.notes.fill('a long text');
  editor.site.rule = () => 'cut';
  await alice.save();
  await alice.reads('Not sent: the server cannot be reached. What you typed is still here.');
  assert.match(await alice.panel.getByRole('alert').textContent(), /^Not sent/);
  await picture(alice.page, 'not-sent');
  assert.equal(await alice.notes.inputValue(), 'a long text');
  assert.deepEqual(editor.saved, []);
  editor.site.rule = () => undefined;
  await alice.save();
  await alice.page.getByText('saved by alice').waitFor();
  assert.equal(editor.record.notes, 'a long text');
});

test('a form is not sent by a person who was signed out, or whose lock was broken', async (t) => {
  const editor = await startEditor(t, { attributes: rarely });
  const alice = await editor.open('alice');
  await alice.is('held');
  await alice.notes.fill('a long text');
  editor.site.rule = () => ({ status: 401, body: { code: 'unauthorized', detail: 'who is it?' } });
  await alice.notes.press('Tab');
  await alice.save();
  await alice.reads('You are signed out.');
  await alice.reads('What you typed is still here. Sign in again in another tab, then take the lock again here.');
  await picture(alice.page, 'not-sent-signed-out');
  editor.site.rule = () => undefined;
  await alice.button('Take the lock again').click();
  await alice.is('held');
  await breakIt(editor);
  await alice.name.press('Enter');
  await alice.reads('admin broke your lock: “maintenance”');
  assert.equal(await alice.notes.inputValue(), 'a long text');
  assert.deepEqual(editor.saved, []);
});

test('while the server is being asked, the page says so, and sends the form once', async (t) => {
  const editor = await startEditor(t, { attributes: rarely });
  const alice = await editor.open('alice');
  await alice.is('held');
  const posts = [];
  alice.page.on('request', (request) => request.url().endsWith('/save') && posts.push(request.postData()));
  let answer;
  const answered = new Promise((resolve) => (answer = resolve));
  editor.site.rule = () => answered;
  await alice.notes.fill('first');
  await alice.save();
  await alice.reads('Checking with the server before sending.');
  assert.match(await alice.panel.getByRole('status').textContent(), /^Checking with the server/);
  await picture(alice.page, 'sending');
  await alice.save();
  await alice.name.press('Enter');
  await alice.notes.fill('typed while the page asked');
  answer();
  await alice.page.getByText('saved by alice').waitFor();
  assert.equal(posts.length, 1);
  assert.equal(editor.record.notes, 'typed while the page asked');
  assert.deepEqual(await editor.holders(), []);
});

// A form with two buttons and a field that must be filled in. Its requests and the events that its own listeners hear
// are collected in `heard`.
async function openForm(t, script) {
  const editor = await startEditor(t);
  editor.heard = [];
  editor.site.pages['/own.js'] = script;
  editor.site.pages['/own'] = `<!doctype html><html lang="en"><title>Own</title>
    <script type="module" src="/client/leasehold-guard.js"></script><script type="module" src="/own.js"></script>
    <leasehold-guard key-type="Customer" key-id="7" owner="alice" check-every="1h">
      <form method="post" action="/nowhere"><label>Name <input name="name" required></label>
      <button>Save</button>
      <button name="next" value="list" formaction="/sent">Save and close</button>
      <button name="next" value="draft" formaction="/sent" formnovalidate>Save draft</button></form>
    </leasehold-guard></html>`;
  editor.site.pages['/sent'] = async (request) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    editor.heard.push(body.replace(/lock_id=[0-9a-f-]{36}/, 'lock_id=ID'));
    return '<!doctype html><title>Sent</title>';
  };
  const context = await person(t);
  await context.page.goto(editor.site.url + '/own');
  const alice = at(context.page, context);
  await alice.is('held');
  return { editor, alice, press: (name) => alice.page.getByRole('button', { name, exact: true }).click() };
}

test('a form is sent with the button that was pressed, and only if it is valid', async (t) => {
  const { editor, alice, press } = await openForm(t, '');
  const asked = () => editor.site.requests.filter(({ method }) => method === 'GET').length;
  const before = asked();
  await press('Save and close');
  assert.equal(await alice.name.evaluate((input) => input.matches(':focus:invalid')), true);
  assert.equal(asked(), before, 'a form that is not valid asks nothing');
  await press('Save draft');
  await alice.page.waitForURL('**/sent');
  await alice.page.goto(editor.site.url + '/own');
  await alice.is('held');
  await alice.name.fill('Ama');
  await press('Save and close');
  await alice.page.waitForURL('**/sent');
  assert.deepEqual(editor.heard, ['name=&next=draft&lock_id=ID', 'name=Ama&next=list&lock_id=ID']);
});

// The second listener is where frameworks listen.
for (const where of ["document.querySelector('form')", 'document']) {
  test(`a script that sends the form itself hears of it once, when the lock is confirmed: ${where}`, async (t) => {
    const { editor, alice, press } = await openForm(t, `
      ${where}.addEventListener('submit', async (event) => {
        event.preventDefault();
        await fetch('/sent', { method: 'POST', body: new URLSearchParams(new FormData(event.target, event.submitter)) });
        document.title = 'Done';
      });`);
    await alice.name.fill('Ama');
    editor.site.rule = () => 'cut';
    await press('Save and close');
    await alice.reads('Not sent: the server cannot be reached.');
    assert.deepEqual(editor.heard, []);
    editor.site.rule = () => undefined;
    await press('Save and close');
    await alice.page.waitForFunction(() => document.title === 'Done');
    assert.deepEqual(editor.heard, ['name=Ama&next=list&lock_id=ID']);
    // The page stays, so the lock is released with the page, as if nothing had been sent.
    await alice.page.evaluate(() => document.querySelector('leasehold-guard').guard.release());
    await alice.is('released');
  });
}

for (const [attributes, message] of [
  [{ owner: '' }, 'the attribute owner is missing or empty.'],
  [{ owner: 'alice', 'key-id': '' }, 'the attribute key-id is missing or empty.'],
  [{ owner: 'alice', mode: 'write' }, 'the attribute mode is “write”. Possible values: exclusive, shared'],
  [{ owner: 'alice', ttl: '5' }, 'the attribute ttl is “5”. Possible values: 90s, 5m, never, …'],
]) {
  test(`wrong attributes make the form read-only, and the page says which: ${message}`, async (t) => {
    const { owner, ...own } = attributes;
    const editor = await startEditor(t);
    const alice = await editor.open(owner, own);
    await alice.reads('This cannot be locked: ' + message);
    await alice.is('failed');
    await picture(alice.page, 'wrong-' + Object.keys(attributes).at(-1));
    assert.equal(await alice.panel.getByRole('button').count(), 0);
    assert.equal(await alice.notes.isEditable(), false);
    await alice.save({ force: true });
    await alice.name.press('Enter');
    assert.deepEqual(editor.saved, []);
    // A page can correct it.
    await alice.page.evaluate(() => {
      const element = document.querySelector('leasehold-guard');
      for (const [name, value] of [['owner', 'alice'], ['key-id', '7'], ['mode', 'exclusive'], ['ttl', '5m']]) element.setAttribute(name, value);
      return element.start();
    });
    await alice.is('held');
    assert.equal(await alice.notes.isEditable(), true);
  });
}

test('an element that waits for start() shows nothing', async (t) => {
  const editor = await startEditor(t, { attributes: { manual: '' } });
  const alice = await editor.open('alice');
  await alice.page.waitForFunction(() => document.querySelector('leasehold-guard').shadowRoot);
  assert.equal(await alice.panel.isVisible(), false);
  await alice.page.evaluate(() => document.querySelector('leasehold-guard').start());
  await alice.reads('You are editing this.');
});

test('a lock from another browser, or from before a new sign-in, is called that', async (t) => {
  const editor = await startEditor(t);
  const { lock_id: lockId } = await editor.server.ask('POST', editor.path, { owner: 'Kim/s-1/tab-1' });
  const kim = await editor.open('Kim', { session: 's-2' });
  await kim.reads(/You have held the lock since .*: from another browser, or from before you signed in again\./);
  await picture(kim.page, 'refused-own');
  // This page cannot know whether anybody changed anything.
  await kim.page.evaluate(() => document.addEventListener('leasehold-turn', (event) => event.preventDefault()));
  await kim.button('Wait in line').click();
  await kim.reads('You are next.');
  await editor.server.ask('DELETE', editor.path, undefined, { 'Lock-Token': lockId });
  await kim.is('held');
  await kim.notes.fill('hers');
  await breakIt(editor);
  await kim.is('lost');
  const other = await editor.server.ask('POST', editor.path, { owner: 'Kim/s-3/tab-1' });
  await kim.reads('You hold the lock elsewhere now.');
  await picture(kim.page, 'lost-to-oneself');
  await kim.button('Wait in line').click();
  await kim.reads('You are next.');
  await editor.server.ask('DELETE', editor.path, undefined, { 'Lock-Token': other.lock_id });
  await kim.reads('You have the lock again. Others may have edited in between: compare with the latest version before you save.');
});

test('a browser that wrongly reports offline still sends the form', async (t) => {
  const editor = await startEditor(t);
  const alice = await editor.open('alice');
  await alice.is('held');
  await alice.page.evaluate(() => Object.defineProperty(navigator, 'onLine', { get: () => false }));
  await alice.save();
  await alice.page.getByText('saved by alice').waitFor();
});

test('a sign-out is shown at once, and the lock is taken again after the sign-in', async (t) => {
  const editor = await startEditor(t);
  const alice = await editor.open('alice');
  await alice.is('held');
  await alice.notes.fill('mine');
  editor.site.rule = () => ({ status: 401, body: { code: 'unauthorized', detail: 'who is it?' } });
  await alice.reads('You are signed out.');
  await alice.reads('What you typed is still here');
  assert.equal(await alice.notes.isEditable(), false);
  const bob = await editor.open('bob');
  await bob.is('failed');
  await bob.reads('You are signed out.');
  editor.site.rule = () => undefined;
  await alice.is('held');
  assert.equal(await alice.notes.inputValue(), 'mine');
  await bob.button('Try again').click();
  await bob.is('refused');
});

test('a button with data-always works while the form is read-only', async (t) => {
  const editor = await startEditor(t);
  const alice = await editor.open('alice');
  await alice.is('held');
  await alice.page.evaluate(() => {
    const cancel = Object.assign(document.createElement('button'), { textContent: 'Cancel', formMethod: 'get' });
    cancel.setAttribute('formaction', '/elsewhere');
    cancel.dataset.always = '';
    document.querySelector('form').append(cancel);
  });
  await breakIt(editor);
  await alice.is('lost');
  await alice.save({ force: true });
  assert.equal(await alice.page.title(), 'Customer 7');
  await alice.page.getByRole('button', { name: 'Cancel' }).click();
  await alice.page.waitForURL('**/elsewhere*');
});

test('the attribute latest sets the link to the latest version', async (t) => {
  const editor = await startEditor(t, { attributes: { latest: '/elsewhere' } });
  const alice = await editor.open('alice');
  await alice.is('held');
  await breakIt(editor);
  const bob = await editor.open('bob');
  await bob.is('held');
  await alice.reads('bob is editing it now.');
  assert.equal(await alice.panel.getByRole('link').getAttribute('href'), '/elsewhere');
});

test('texts are Korean in a Korean page, and a page can change them', async (t) => {
  const editor = await startEditor(t, { lang: 'ko' });
  const alice = await editor.open('지민');
  await alice.reads('편집 중입니다.');
  const bob = await editor.open('서연');
  await bob.reads('지민 님이');
  await bob.button('대기').click();
  await bob.reads('다음 차례입니다.');
  await picture(bob.page, 'waiting-ko');
  await alice.page.evaluate(() => (document.querySelector('leasehold-guard').texts = { held: '지금 당신 차례' }));
  await alice.reads('지금 당신 차례');
  const carol = await editor.open('carol', { as: 'fr' });
  await carol.reads('지민 has been editing this since');
});

test('hostile names, notes and reasons are shown as text', async (t) => {
  const editor = await startEditor(t);
  const evil = '<img src=x onerror="document.title=1"><script>document.title=1</script>{why}';
  const alice = await editor.open(evil, { note: evil });
  await alice.is('held');
  const bob = await editor.open('bob');
  await bob.reads(evil);
  assert.equal(await bob.panel.locator('img, script').count(), 0);
  await breakIt(editor, evil, evil);
  await alice.reads(evil);
  assert.equal(await alice.panel.locator('img, script').count(), 0);
  for (const { page } of [alice, bob]) assert.equal(await page.title(), 'Customer 7');
});

test('a page can prevent the reload and the sending of the form', async (t) => {
  const editor = await startEditor(t);
  const alice = await editor.open('alice');
  await alice.is('held');
  const bob = await editor.open('bob', { 'on-turn': 'keep' });
  await bob.is('refused');
  await bob.page.evaluate(() => {
    window.told = [];
    for (const type of ['waiting', 'turn', 'held']) {
      document.addEventListener('leasehold-' + type, ({ detail }) => window.told.push([type, detail.stale]));
    }
    window.stays = true;
  });
  await bob.button('Wait in line').click();
  await bob.reads('You are next.');
  await alice.page.evaluate(() => document.querySelector('leasehold-guard').remove());
  await bob.is('held');
  const told = await bob.page.evaluate(() => window.stays && window.told);
  assert.deepEqual(told.at(-2), ['held', true]);
  assert.deepEqual(told.at(-1), ['turn', true]);
  assert.equal(await bob.notes.isEditable(), true);
});

// Every state, checked with axe-core. $SCREENSHOTS names a folder for pictures.
test('every state is accessible in light and in dark', async (t) => {
  const editor = await startEditor(t, { attributes: { note: 'checking the address' } });
  const open = (owner, own) => editor.open(owner, own, { reducedMotion: 'reduce', viewport: { width: 900, height: 560 } });
  const look = async ({ page }, state) => assert.deepEqual(await problemsInLightAndDark(page, state), []);
  const alice = await open('Alice');
  await alice.is('held');
  await look(alice, 'held');
  const bob = await open('Bob');
  await bob.is('refused');
  await look(bob, 'refused');
  await bob.button('Ask for the lock').click();
  await look(bob, 'asking-for-it');
  await bob.button('Wait in line').click();
  await bob.reads('You are next.');
  await look(bob, 'waiting');
  await breakIt(editor, 'Carol', 'the data is being moved');
  await alice.is('lost');
  await look(alice, 'lost');
  await bob.is('held');
  await alice.reads('Bob is editing it now.');
  await look(alice, 'lost-to-bob');
  const idle = await open('Dora', { 'key-id': '9', 'idle-after': '10m', 'idle-warning': '10m' });
  await idle.is('expiring');
  await look(idle, 'expiring');
  const failed = await open('Eve', { 'key-id': '9', ttl: '1ms' });
  await failed.is('failed');
  await look(failed, 'failed');
  const carol = await open('Carol');
  await carol.button('Ask for the lock').click();
  await carol.page.keyboard.press('Enter');
  await bob.reads('Carol would like to edit this');
  await look(bob, 'knocked');
  await bob.page.evaluate(() => document.querySelector('leasehold-guard').guard.release());
  await bob.is('released');
  await look(bob, 'released');
  await carol.is('free');
  await look(carol, 'free');
  await carol.button('Start editing').click();
  await carol.is('held');
  editor.site.rule = () => 401;
  await carol.reads('You are signed out.');
  await look(carol, 'signed-out');
  editor.site.rule = () => 'cut';
  const fay = await open('Fay');
  await fay.reads('The server cannot be reached.');
  await look(fay, 'asking');
});
