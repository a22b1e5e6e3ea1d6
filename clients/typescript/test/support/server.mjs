// Starts `windlass serve` on SQLite or Redis for tests, and ends it by its process.
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {mkdtempSync, rmSync} from 'node:fs';
import {createServer} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {createInterface} from 'node:readline';

const BIN = process.env.WINDLASS_BIN;
if (!BIN) throw new Error('set WINDLASS_BIN to the path of the windlass binary');

export const STORES = ['sqlite', 'redis'];

/** A port that is free now. */
export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const {port} = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Ends a process that may have ended already. */
export async function ended(child, signal) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill(signal);
  await exit;
}

/** A Redis server without persistence. */
async function startRedis(folder) {
  const port = await freePort();
  const child = spawn('redis-server', ['--port', String(port), '--save', '', '--appendonly', 'no', '--dir', folder], {stdio: ['ignore', 'pipe', 'ignore']});
  for await (const line of createInterface({input: child.stdout})) {
    if (line.includes('Ready to accept connections')) break;
  }
  child.stdout.resume();
  return {url: `redis://127.0.0.1:${port}/0`, stop: () => ended(child, 'SIGTERM')};
}

/** A server with a store of its own. `restart` keeps the store and the port. */
export class Server {
  #child;
  #folder = mkdtempSync(join(tmpdir(), 'windlass-ts-'));
  #redis;
  #store;
  #token;

  static async start(store = 'sqlite', {token} = {}) {
    const server = new Server();
    server.#token = token;
    if (store === 'redis') server.#redis = await startRedis(server.#folder);
    server.#store = server.#redis?.url ?? `sqlite:${join(server.#folder, 'windlass.db')}`;
    server.port = await freePort();
    server.url = `http://127.0.0.1:${server.port}`;
    await server.up();
    return server;
  }

  get pid() {
    return this.#child.pid;
  }

  async up() {
    const {WINDLASS_HTTP_TOKEN: _, ...env} = process.env;
    if (this.#token) env.WINDLASS_HTTP_TOKEN = this.#token;
    const words = ['--store', this.#store, 'serve', '--listen', `127.0.0.1:${this.port}`, '--quiet'];
    this.#child = spawn(BIN, words, {env, cwd: this.#folder, stdio: ['ignore', 'pipe', 'inherit']});
    // It prints its URL when it accepts connections.
    await once(this.#child.stdout, 'data');
  }

  /** SIGTERM by default. */
  async down(signal = 'SIGTERM') {
    await ended(this.#child, signal);
  }

  async stop() {
    await this.down();
    await this.#redis?.stop();
    rmSync(this.#folder, {recursive: true, force: true});
  }
}

/** Repeats a check until it returns something true. The check is the condition: there is no fixed sleep. */
export async function eventually(check, timeoutMs = 10_000) {
  const began = performance.now();
  for (;;) {
    const found = await check();
    if (found) return found;
    if (performance.now() - began > timeoutMs) throw new Error(`not true within ${timeoutMs} ms: ${check}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
