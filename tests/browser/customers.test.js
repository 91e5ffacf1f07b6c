import assert from 'node:assert/strict';
import { accessibilityProblems, problemsInLightAndDark } from './support/accessibility.js';
import { at, startCustomers } from './support/customers.js';
import { picture } from './support/people.js';
import { sideBySide } from './support/side_by_side.js';
import { eventually } from './support/waiting.js';

const test = sideBySide(3);

test('two people and one customer: the second is refused, waits, asks, gets the lock and saves', async (t) => {
  const app = await startCustomers(t);
  const kim = await app.signIn('Kim');
  const lee = await app.signIn('Lee');

  await kim.edit('Baker Street Books');
  await kim.is('held');
  await kim.field('Phone').fill('+44 20 5550 9999');
  // The list shows it without a reload.
  await lee.row('Baker Street Books').getByText('Kim is editing').waitFor();
  await picture(lee.page, 'customers-list');
  await picture(kim.page, 'customers-form');

  await lee.edit('Baker Street Books');
  await lee.reads('Kim has been editing this since');
  await lee.press('Wait in line');
  await lee.reads('You are next.');
  await lee.press('Ask for the lock');
  await lee.page.getByLabel('Message to Kim').fill('Five minutes only?');
  await lee.press('Send');
  await lee.reads('Your request was sent to Kim.');
  await picture(lee.page, 'customers-waiting');

  await kim.reads('Lee would like to edit this: “Five minutes only?”');
  await picture(kim.page, 'customers-knocked');
  await kim.press('Finish and hand over');
  await kim.reads('Saved.');
  await picture(kim.page, 'customers-saved');

  // Lee's page opens the form by itself, with what Kim has saved.
  await lee.is('held');
  assert.equal(await lee.field('Phone').inputValue(), '+44 20 5550 9999');
  await lee.field('Note').fill('Ask for Lee.');
  await lee.press('Save');
  await lee.reads('Saved.');
  await lee.reads('Ask for Lee.');
  await lee.reads('+44 20 5550 9999');
});

test('without scripts: a save after the lock expired keeps the draft and shows what changed', async (t) => {
  const app = await startCustomers(t, { ttlS: 15 });
  const kim = await app.signIn('Kim', { javaScriptEnabled: false });
  const lee = await app.signIn('Lee');
  await kim.edit('Delta Pumps');
  await kim.field('Note').fill('Twenty minutes of typing.');

  await eventually(async () => {
    await lee.page.reload();
    return (await lee.row('Delta Pumps').getByText('Kim is editing').count()) === 0;
  });
  await lee.edit('Delta Pumps');
  await lee.is('held');
  await lee.field('Phone').fill('555-LEE');
  await lee.press('Save');
  await lee.reads('Saved.');

  await kim.press('Save');
  await kim.reads('Not saved: your lock had expired.');
  await kim.reads('changed it in between');
  assert.equal(await kim.field('Note').inputValue(), 'Twenty minutes of typing.');
  assert.deepEqual(await kim.page.locator('main table tbody tr').allInnerTexts(), ['Phone\t+1 312 555 0144\t555-LEE\t–']);
  await picture(kim.page, 'customers-late');

  await kim.press('Take the lock again and review');
  assert.equal(await kim.field('Phone').inputValue(), '555-LEE');
  await kim.press('Save');
  await kim.reads('Twenty minutes of typing.');
  await kim.reads('555-LEE');
});

test('offline and back: the form is read-only and keeps the draft', async (t) => {
  const app = await startCustomers(t, { ttlS: 15 });
  const kim = await app.signIn('Kim');
  const lee = await app.signIn('Lee');
  await kim.edit('Hansen Fisk');
  await kim.is('held');
  await lee.row('Hansen Fisk').getByText('Kim is editing').waitFor();
  await kim.field('Note').fill('Typed before the tunnel.');
  await kim.context.setOffline(true);
  await kim.is('lost');
  assert.equal(await kim.field('Note').isEditable(), false);
  assert.equal(await kim.field('Note').inputValue(), 'Typed before the tunnel.');
  // The page stops a little before the lease expires on the server. If it were online by then, it would continue.
  await lee.row('Hansen Fisk').getByText('Kim is editing').waitFor({ state: 'detached' });
  await kim.context.setOffline(false);
  await kim.press('Take the lock again');
  await kim.is('held');
  await kim.press('Save');
  await kim.reads('Saved.');
  await kim.reads('Typed before the tunnel.');
});

test('a reload keeps the lock, a second tab is another owner, and closing releases the lock', async (t) => {
  const app = await startCustomers(t);
  const kim = await app.signIn('Kim');
  const lee = await app.signIn('Lee');
  await kim.edit('Eastern Tea');
  await kim.is('held');
  const lock = () => kim.page.locator('input[name=lock_id]').inputValue();
  const before = await lock();
  await kim.page.reload();
  await kim.is('held');
  assert.equal(await lock(), before);

  const second = at(await kim.context.newPage(), kim.context);
  await second.page.goto(app.url + '/customers');
  await second.edit('Eastern Tea');
  await second.reads('You have been editing this in another tab or window');
  await second.page.close();

  await lee.row('Eastern Tea').getByText('Kim is editing').waitFor();
  await kim.page.close();
  // Nobody sends a request: the mark disappears when the lock has ended.
  await lee.row('Eastern Tea').getByText('Kim is editing').waitFor({ state: 'detached' });
});

test('signed out with an open form: the draft survives the sign-in', async (t) => {
  const app = await startCustomers(t);
  const kim = await app.signIn('Kim');
  await kim.edit('Delta Pumps');
  await kim.is('held');
  await kim.field('Note').fill('half an hour of typing');
  const beside = await kim.context.newPage();
  await beside.goto(app.url + '/customers');
  await beside.getByRole('button', { name: 'Sign out' }).click();
  await beside.getByRole('heading', { name: 'Who are you?' }).waitFor();
  await kim.is('lost');
  await kim.reads('You are signed out.');
  assert.equal(await kim.field('Note').isEditable(), false);
  await picture(kim.page, 'customers-signed-out');
  assert.deepEqual(await accessibilityProblems(kim.page), []);
  await kim.press('Sign in');
  await kim.page.getByRole('heading', { name: 'Who are you?' }).waitFor();
  await kim.reads('Everything you typed is kept');
  await kim.page.getByLabel('Name').fill('Kim');
  await kim.press('Sign in');
  await kim.is('held');
  assert.equal(await kim.field('Note').inputValue(), 'half an hour of typing');
  await kim.press('Save');
  await kim.reads('Saved.');
  await kim.reads('half an hour of typing');
});

test('a reload and the back button send nothing twice, and a duplicate of the tab is read-only', async (t) => {
  const app = await startCustomers(t);
  const kim = await app.signIn('Kim');
  await kim.edit('Delta Pumps');
  await kim.is('held');
  const lockId = () => kim.page.locator('input[name=lock_id]').inputValue();
  const before = await lockId();
  const posts = [];
  kim.page.on('request', (request) => request.method() === 'POST' && posts.push(request.url()));
  await kim.page.reload();
  await kim.is('held');
  assert.equal(await lockId(), before);
  assert.deepEqual(posts.filter((url) => url.includes('/edit')), []);

  const [duplicate] = await Promise.all([
    kim.context.waitForEvent('page'),
    kim.page.evaluate(() => void window.open(location.href)),
  ]);
  await duplicate.getByText('It is being edited by').waitFor();
  assert.equal(await duplicate.locator('input[name=lock_id]').count(), 0);
  await kim.is('held');

  await kim.field('Phone').fill('555-BACK');
  await kim.press('Save');
  await kim.reads('Saved.');
  await kim.page.goBack();
  await kim.reads('555-BACK');
  assert.equal(await kim.page.locator('leasehold-guard').count(), 0);
  assert.deepEqual(posts.filter((url) => url.includes('/edit')), []);
});

test('a form that lost its lock can be compared with the latest version, and cancelled', async (t) => {
  const app = await startCustomers(t, { ttlS: 15 });
  const kim = await app.signIn('Kim');
  const lee = await app.signIn('Lee');
  await kim.edit('Delta Pumps');
  await kim.is('held');
  await lee.edit('Delta Pumps');
  await lee.press('Wait in line');
  await lee.reads('You are next.');
  await kim.context.setOffline(true);
  await kim.is('lost');
  await lee.is('held');
  await kim.context.setOffline(false);
  await kim.reads('Lee is editing it now.');
  const latest = kim.page.getByRole('link', { name: 'Open the latest version in a new tab' });
  const [other] = await Promise.all([kim.context.waitForEvent('page'), latest.click()]);
  await other.getByText('It is being edited by Lee').waitFor();
  await other.close();
  await kim.press('Cancel');
  await kim.reads('It is being edited by Lee');
  await lee.is('held');
});

test('many read the prices, one edits them; one uses the counter', async (t) => {
  const app = await startCustomers(t);
  const kim = await app.signIn('Kim');
  const lee = await app.signIn('Lee');
  const open = (who, path) => who.page.goto(app.url + path);
  await open(kim, '/price-list');
  await kim.press('Read');
  await kim.is('held');
  await kim.reads('Fountain pen');
  await open(lee, '/price-list');
  await lee.press('Read');
  await lee.is('held');
  await lee.reads('Fountain pen');
  await picture(lee.page, 'customers-prices');
  await lee.press('Edit');
  await lee.reads('Kim has been reading this since');
  await lee.press('Wait in line');
  await kim.press('Done reading');
  await lee.is('held');
  await lee.page.getByLabel('Price 3').fill('41.50');
  await picture(lee.page, 'customers-prices-edit');
  await lee.press('Save');
  await lee.reads('Saved.');

  await open(kim, '/counter');
  await kim.press('Look at the next number');
  await kim.is('held');
  await kim.reads('1001');
  await picture(kim.page, 'customers-counter');
  await open(lee, '/counter');
  await lee.press('Look at the next number');
  await lee.press('Wait in line');
  await kim.press('Use this number');
  await kim.reads('Number 1001 is used.');
  await lee.reads('1002');
});

test('hostile names and messages are shown as text', async (t) => {
  const app = await startCustomers(t);
  const evil = `<img src=x onerror="window.hacked=1"><script>window.hacked=2</script>`;
  const hostile = `"><script>window.hacked=3</script>${evil}{}`;
  const mallory = await app.signIn('<b onclick="hacked=1">M');
  const kim = await app.signIn('Kim');
  const unharmed = async (who) => {
    assert.equal(await who.page.evaluate(() => window.hacked), undefined);
    assert.equal(await who.page.locator('main img, main b, main script').count(), 0);
  };

  await mallory.edit('Café Zwölf');
  await mallory.is('held');
  for (const label of ['Name', 'Note']) await mallory.field(label).fill(hostile);
  await mallory.press('Save');
  await mallory.reads('Saved.');
  await unharmed(mallory);
  assert.equal(await mallory.page.getByRole('heading', { level: 1 }).innerText(), hostile);
  await mallory.press('Edit');
  await mallory.is('held');
  assert.equal(await mallory.field('Name').inputValue(), hostile);
  await unharmed(mallory);

  await kim.page.reload();
  await kim.row('<script>').getByText('M is editing').waitFor();
  await unharmed(kim);
  await kim.edit('<script>');
  await kim.reads('has been editing this since');
  await unharmed(kim);
  await kim.press('Ask for the lock');
  await kim.page.getByLabel(/^Message to/).fill(evil);
  await kim.press('Send');
  await mallory.reads('Kim would like to edit this');
  await unharmed(mallory);
});

test('every page is accessible in light and in dark', async (t) => {
  const app = await startCustomers(t);
  const phone = { viewport: { width: 390, height: 844 } };
  const kim = await app.signIn('Kim', phone);
  const lee = await app.signIn('Lee', phone);
  const check = async (who, name) => {
    const times = await who.page.locator('time').evaluateAll((all) => all.map((time) => time.dateTime));
    for (const time of times) assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?Z$/, `${name}: valid HTML`);
    assert.deepEqual(await problemsInLightAndDark(who.page, `customers-${name}-phone`), []);
  };
  await kim.edit('Gardens of Lyon');
  await kim.is('held');
  await check(kim, 'form');
  await lee.row('Gardens of Lyon').getByText('Kim').waitFor();
  await check(lee, 'list');
  await lee.row('Gardens of Lyon').getByRole('link').click();
  await lee.reads('It is being edited by');
  await check(lee, 'view');
  await lee.press('Edit');
  await lee.is('refused');
  await check(lee, 'refused');
  await lee.page.goto(app.url + '/price-list');
  await check(lee, 'price-list');
  await lee.press('Edit');
  await lee.is('held');
  await check(lee, 'prices');
  await lee.press('Cancel');
  await lee.page.getByRole('button', { name: 'Read', exact: true }).waitFor();
  await lee.page.goto(app.url + '/counter');
  await check(lee, 'counter');
  await lee.page.getByRole('button', { name: 'Sign out' }).click();
  await lee.page.getByRole('heading', { name: 'Who are you?' }).waitFor();
  await check(lee, 'sign-in');
  await kim.press('Cancel');
  await kim.page.getByRole('button', { name: 'Edit', exact: true }).waitFor();
});
