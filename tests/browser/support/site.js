// A web application in front of a Leasehold server. It serves pages of the test and leasehold.js, and passes /v1
// on to the server. A test can disturb the requests on their way.

import { once } from 'node:events';
import { createReadStream, existsSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

const client = fileURLToPath(new URL('../../../web/client', import.meta.url));
const types = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.json': 'application/json',
};

export const strictPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
  "img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/**
 * `pages` maps paths to HTML, or to functions of the request that give it. Ends with the test `t`.
 * `site.rule` may be set to a function of a request on its way to the server: what it returns, a
 * promise perhaps, decides: 'cut' ends the connection, 'cut answer' does so once the server has answered, a
 * number is a status to answer with, {status, body} an answer, nothing passes it on.
 */
export async function startSite(t, server, pages = {}) {
  const site = new Site(server, pages);
  await site.start();
  t.after(() => site.stop());
  return site;
}

class Site {
  rule = () => undefined;
  policy = strictPolicy;
  pages;
  requests = [];  // {method, url, headers} that came for the server
  #server;
  #listener;

  constructor(server, pages) {
    this.#server = server;
    this.pages = pages;
  }

  get url() { return `http://127.0.0.1:${this.#listener.address().port}`; }

  async start() {
    this.#listener = createServer((incoming, response) => this.#answer(incoming, response));
    this.#listener.listen(0, '127.0.0.1');
    await once(this.#listener, 'listening');
  }

  async stop() {
    this.#listener.close();
    this.#listener.closeAllConnections();
  }

  async #answer(incoming, response) {
    const path = new URL(incoming.url, 'http://site').pathname;
    if (path.startsWith('/v1/')) return this.#pass(incoming, response);
    if (path in this.pages) {
      const page = this.pages[path];
      const type = types[extname(path)] ?? 'text/html';
      response.setHeader('Content-Type', `${type}; charset=utf-8`);
      response.setHeader('Content-Security-Policy', this.policy);
      response.end(typeof page === 'function' ? await page(incoming) : page);
      return;
    }
    const file = join(client, normalize(path.replace(/^\/client\//, '/')));
    if (path.startsWith('/client/') && existsSync(file)) {
      response.setHeader('Content-Type', types[extname(file)] ?? 'application/octet-stream');
      createReadStream(file).pipe(response);
      return;
    }
    response.writeHead(path === '/favicon.ico' ? 204 : 404).end();
  }

  async #pass(incoming, response) {
    this.requests.push({ method: incoming.method, url: incoming.url, headers: incoming.headers });
    const ruling = await this.rule(incoming);
    if (ruling === 'cut') return incoming.socket.destroy();
    if (typeof ruling === 'number') return response.writeHead(ruling).end();
    if (ruling?.status) {
      response.writeHead(ruling.status, { 'Content-Type': 'application/problem+json' });
      return response.end(JSON.stringify(ruling.body));
    }
    const { hostname, port } = new URL(this.#server.url);
    const { connection, ...headers } = incoming.headers;  // the Host stays: a page asks its own site
    const onward = request({ hostname, port, path: incoming.url, method: incoming.method, headers });
    onward.on('response', (answer) => {
      if (ruling === 'cut answer') return incoming.socket.destroy();
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => incoming.socket.destroy());
    response.on('close', () => onward.destroy());
    incoming.pipe(onward);
  }
}
