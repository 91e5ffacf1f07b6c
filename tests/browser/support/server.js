// A real `leasehold serve` on a port of its own.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export const executable =
  process.env.LEASEHOLD_COMMAND ?? new URL('../../../build/release/leasehold', import.meta.url).pathname;

/**
 * Stops with the test `t`. `options` are those of `leasehold serve`: `{maxTtl: '1h'}` is --max-ttl 1h. `command` is another
 * program than that of the build.
 */
export async function startServer(t, options = {}, command = executable) {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-browser.'));
  const server = new Server({ store: `sqlite:${folder}/locks.db`, ...options }, command);
  t.after(async () => {
    await server.kill();
    rmSync(folder, { recursive: true });
  });
  await server.start();
  return server;
}

class Server {
  #options;
  #command;
  #process;
  #log = [];

  constructor(options, command) {
    this.#command = command;
    this.#options = { port: 0, ...options };
  }

  get url() { return `http://127.0.0.1:${this.#options.port}`; }
  get log() { return this.#log.join('\n'); }
  get process() { return this.#process; }

  /** Starts it; after a stop, on the port it had before. */
  async start() {
    const words = ['serve'];
    for (const [name, value] of Object.entries(this.#options)) {
      words.push('--' + name.replace(/[A-Z]/g, (letter) => '-' + letter.toLowerCase()), String(value));
    }
    this.#process = spawn(this.#command, words, { stdio: ['ignore', 'ignore', 'pipe'] });
    const ended = once(this.#process, 'exit');
    const ready = new Promise((resolve) => {
      createInterface({ input: this.#process.stderr }).on('line', (line) => {
        this.#log.push(line);
        const url = line.match(/"message":"ready".*"url":"([^"]*)"/)?.[1];
        if (url) resolve(new URL(url));
      });
    });
    const url = await Promise.race([ready, ended.then(() => null)]);
    if (!url) throw new Error('the server did not start:\n' + this.log);
    this.#options.port = Number(url.port);
  }

  /** Stops it like an administrator. */
  stop() { return this.#end('SIGTERM'); }

  /** Stops it like a power cut. */
  kill() { return this.#end('SIGKILL'); }

  async #end(signal) {
    const { exitCode, signalCode } = this.#process;
    if (exitCode !== null || signalCode !== null) return;
    const ended = once(this.#process, 'exit');
    this.#process.kill(signal);
    await ended;
  }

  /** Sends a request as another program would: `server.ask('POST', '/v1/locks/Order/1', {owner: 'bob'})`. */
  async ask(method, path, body, headers = {}) {
    const response = await fetch(this.url + path, {
      method,
      headers: body ? { 'Content-Type': 'application/json', ...headers } : headers,
      body: body && JSON.stringify(body),
    });
    return { status: response.status, ...(await response.json()) };
  }
}
