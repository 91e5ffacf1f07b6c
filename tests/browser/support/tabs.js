// Tabs of one browser window, controlled with Chromium's DevTools protocol. Playwright keeps every page visible,
// and browsers neither slow down nor freeze a visible page.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// Timers of a hidden page run once a minute, as after minutes in the background.
const soonSlow = '--enable-features=IntensiveWakeUpThrottling:grace_period_seconds/1';

/** Ends with the test `t`. `open(url)` opens a tab, in front of the others. */
export async function openWindow(t) {
  const profile = mkdtempSync(join(tmpdir(), 'leasehold-chromium.'));
  const browser = spawn(process.env.CHROMIUM ?? '/usr/bin/chromium',
    ['--headless=new', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking',
      soonSlow, '--remote-debugging-pipe', `--user-data-dir=${profile}`, 'about:blank'],
    { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
  const ended = once(browser, 'exit');
  const devtools = new Devtools(browser.stdio[3], browser.stdio[4]);
  t.after(async () => {
    void devtools.send('Browser.close').catch(() => {});
    await ended;
    rmSync(profile, { recursive: true, maxRetries: 20 });
  });
  return { open: (url) => Tab.open(devtools, url) };
}

class Tab {
  #devtools;
  #targetId;
  #sessionId;

  static async open(devtools, url) {
    const tab = new Tab();
    tab.#devtools = devtools;
    tab.#targetId = (await devtools.send('Target.createTarget', { url: 'about:blank' })).targetId;
    const about = { targetId: tab.#targetId, flatten: true };
    tab.#sessionId = (await devtools.send('Target.attachToTarget', about)).sessionId;
    await tab.#ask('Page.enable');
    const there = devtools.next('Page.frameNavigated', ({ frame }) => frame.url === url);
    await tab.#ask('Page.navigate', { url });
    await there;
    return tab;
  }

  /** Brings it to the front; the one that was there is hidden. */
  show() { return this.#devtools.send('Target.activateTarget', { targetId: this.#targetId }); }
  /** As a browser does with what has been hidden for long. */
  freeze() { return this.#ask('Page.setWebLifecycleState', { state: 'frozen' }); }
  thaw() { return this.#ask('Page.setWebLifecycleState', { state: 'active' }); }

  /** What a function says in the page. */
  async evaluate(run) {
    const { result } = await this.#ask('Runtime.evaluate', { expression: `(${run})()`, returnByValue: true });
    return result.value;
  }

  #ask(method, parameters) { return this.#devtools.send(method, parameters, this.#sessionId); }
}

// Each message is JSON and ends with a zero byte.
class Devtools {
  #to;
  #asked = new Map();
  #last = 0;
  #awaited = new Map();

  constructor(to, from) {
    this.#to = to;
    let text = '';
    from.setEncoding('utf8');
    from.on('data', (more) => {
      const messages = (text + more).split('\0');
      text = messages.pop();
      for (const message of messages) this.#hear(JSON.parse(message));
    });
    to.on('error', () => {});  // it has ended
  }

  send(method, params = {}, sessionId) {
    const id = ++this.#last;
    this.#to.write(JSON.stringify({ id, method, params, sessionId }) + '\0');
    return new Promise((resolve, reject) => this.#asked.set(id, { resolve, reject }));
  }

  /** The next event of this name that is meant. */
  next(name, isMeant) {
    return new Promise((resolve) => this.#awaited.set(name, (what) => isMeant(what) && resolve()));
  }

  #hear({ id, result, error, method, params }) {
    this.#awaited.get(method)?.(params);
    const asked = this.#asked.get(id);
    this.#asked.delete(id);
    if (error) asked?.reject(new Error(error.message));
    else asked?.resolve(result);
  }
}
