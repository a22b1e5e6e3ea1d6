// A `windlass serve` of its own on a new store, and a client for its API.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

export const STORES = ["sqlite", "redis"];

const PROGRAM = process.env.WINDLASS_BIN;
if (!PROGRAM) throw new Error("WINDLASS_BIN is not set: it is the path of the windlass binary to test");
const REDIS = process.env.WINDLASS_REDIS_SERVER ?? "redis-server";

// The tokens of every server: scopes, and the pattern of its queues.
const TOKENS = {
  reader: ["read"],
  operator: ["read,operate"],
  admin: ["admin"],
  mailer: ["read,operate", "mail*"],
  enqueuer: ["enqueue"],
};

const secret = (name) => createHash("sha256").update(`a secret for ${name}`).digest("hex");

export class Server {
  // Starts a server with tokens for each scope, and one for each of `names`. An open server has no tokens.
  static async start(store = "sqlite", { names = [], isOpen = false } = {}) {
    const server = new Server();
    server.folder = mkdtempSync(join(tmpdir(), "windlass-browser-"));
    server.tokens = Object.fromEntries([...Object.keys(TOKENS), ...names].map((name) => [name, secret(name)]));
    server.store = store === "redis" ? await server.startRedis() : `sqlite:${join(server.folder, "jobs.db")}`;
    const line = ([name, token]) => {
      const [scopes, queues = ""] = TOKENS[name] ?? ["admin"];
      return `${name} ${createHash("sha256").update(token).digest("hex")} ${scopes} ${queues}\n`;
    };
    const file = join(server.folder, "tokens");
    writeFileSync(file, Object.entries(server.tokens).map(line).join(""), { mode: 0o600 });
    await server.serve(isOpen ? [] : ["--tokens", file]);
    return server;
  }

  // Starts `windlass serve`, on the port of before if there was one.
  async serve(options = this.options) {
    this.options = options;
    const address = this.url ? new URL(this.url).host : "127.0.0.1:0";
    this.process = start(PROGRAM, ["serve", "--quiet", "--listen", address, "--store", this.store, ...options], {
      cwd: this.folder,
      stdio: ["ignore", "pipe", "inherit"],
    });
    const ended = once(this.process, "exit").then(() => { throw new Error("windlass serve ended"); });
    [this.url] = await Promise.race([once(createInterface(this.process.stdout), "line"), ended]);
    ended.catch(() => {});
  }

  async startRedis() {
    const probe = createServer().listen(0, "127.0.0.1");
    await once(probe, "listening");
    const { port } = probe.address();
    await new Promise((done) => probe.close(done));
    const options = ["--bind", "127.0.0.1", "--port", port, "--save", "", "--appendonly", "no", "--dir", this.folder];
    this.redis = start(REDIS, options.map(String), { stdio: ["ignore", "pipe", "inherit"] });
    for await (const line of createInterface(this.redis.stdout)) if (line.includes("Ready to accept")) break;
    return `redis://127.0.0.1:${port}/0`;
  }

  // Runs a command of the CLI on the store itself. Returns its process.
  run(command, ...args) {
    return start(PROGRAM, [command, "--store", this.store, ...args], { cwd: this.folder, stdio: ["ignore", "ignore", "inherit"] });
  }

  // Sends a request to the API as `admin`, or as another token. Throws if it is refused.
  async api(method, path, body, name = "admin") {
    const reply = await this.send(method, path, body, { authorization: `Bearer ${this.tokens[name]}` });
    const text = await reply.text();
    if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${text}`);
    return text && JSON.parse(text);
  }

  get = (path) => this.api("GET", `/v1${path}`);
  post = (path, body = {}) => this.api("POST", `/v1${path}`, body);
  put = (path, body) => this.api("PUT", `/v1${path}`, body);

  // Sends any request. Redirects are not followed.
  send(method, path, body, headers = {}) {
    const json = body && { "content-type": "application/json" };
    const text = body && (typeof body === "string" ? body : JSON.stringify(body));
    return fetch(this.url + path, { method, body: text, headers: { ...json, ...headers }, redirect: "manual" });
  }

  async stop() {
    await end(this.process);
  }

  async close() {
    await this.stop();
    await end(this.redis);
    rmSync(this.folder, { recursive: true });
  }
}

// Starts a process that does not outlive this one.
function start(program, args, options) {
  const child = spawn(program, args, options);
  const kill = () => child.kill("SIGKILL");
  process.on("exit", kill);
  child.once("exit", () => process.off("exit", kill));
  return child;
}

// Ends a process, and waits for it.
export async function end(child) {
  if (!child || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  await ended;
}

// Calls a function until it returns something true, for at most 20 seconds.
export async function until(what, check) {
  const deadline = Date.now() + 20_000;
  for (;;) {
    const found = await check();
    if (found) return found;
    if (Date.now() > deadline) throw new Error(`timed out: ${what}`);
    await new Promise((done) => setTimeout(done, 20));
  }
}
