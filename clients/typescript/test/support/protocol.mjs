// Runs the protocol cases of `clients/protocol` against a real server on one kind of store.
import assert from 'node:assert/strict';
import {readdirSync, readFileSync} from 'node:fs';
import {after, before, describe, test} from 'node:test';
import {fileURLToPath} from 'node:url';
import * as windlass from '../../dist/index.js';
import {handlerOf, Handled} from './handlers.mjs';
import {at, bytes, fill, match} from './match.mjs';
import {call} from './names.mjs';
import {Proxy} from './proxy.mjs';
import {eventually, Server} from './server.mjs';

const FOLDER = process.env.WINDLASS_PROTOCOL ?? fileURLToPath(new URL('../../../protocol', import.meta.url));
const FILES = readdirSync(`${FOLDER}/cases`).filter((name) => name.endsWith('.json')).sort();
const STEP_KEYS = ['call', 'request', 'eventually', 'fault', 'requests', 'start_worker', 'stop_worker', 'handled', 'unblock', 'server'];
const CASE_MS = 15_000;
const TYPES = {
  access_denied: 'AccessDeniedError', invalid: 'InvalidError', not_found: 'NotFoundError', conflict: 'ConflictError', lease_lost: 'LeaseLostError',
  wait_timeout: 'WaitTimeoutError', server_away: 'ServerAwayError', outcome_unknown: 'OutcomeUnknownError', server_error: 'ServerError',
};

class Runner {
  workers = new Map();
  handled = new Handled();

  constructor(one, queue, server, proxy) {
    this.names = {queue};
    this.server = server;
    this.proxy = proxy;
    const {token, retry_for: retryFor = '5s'} = one.client ?? {};
    this.client = new windlass.Client({url: proxy.url, token, retryFor});
  }

  async step(raw) {
    const step = fill(raw, this.names);
    const known = STEP_KEYS.filter((key) => key in step);
    assert.equal(known.length, 1, `unknown step: ${JSON.stringify(step)}`);
    await this[`do_${known[0]}`](step);
  }

  async do_call(step) {
    await this.#expect(step, () => call(this.client, step.call, bytes(step.args ?? {})));
  }

  async do_request(step) {
    const {method, path, body, repeatable} = step.request;
    await this.#expect(step, () => this.client.request(method, path, body, {repeatable}));
  }

  async #expect(step, run) {
    if (!step.expect_error) {
      const reply = await run();
      if ('expect' in step) match(reply, step.expect);
      for (const [name, path] of Object.entries(step.save ?? {})) this.names[name] = at(reply, path);
      return;
    }
    const {type, ...fields} = step.expect_error;
    const error = await run().then(() => assert.fail('expected an error'), (error) => error);
    assert.ok(error instanceof windlass[TYPES[type]], `expected ${TYPES[type]}, got ${error.stack}`);
    match({code: error.code, status: error.status, help: error.help, message: error.message}, fields, 'error');
  }

  async do_eventually({eventually: inner}) {
    let last;
    const check = () => this.step(inner).then(() => true, (error) => ((last = error), false));
    await eventually(check).catch(() => {
      throw last;
    });
  }

  do_fault({fault}) {
    this.proxy.fault(fault);
  }

  do_requests({requests: {on, expect, at_least, same = [], gap_ms_min}}) {
    const seen = this.proxy.matching(on);
    if (at_least !== undefined) assert.ok(seen.length >= at_least, `${on}: ${seen.length} requests, expected ${at_least} or more`);
    if (expect) match(seen, expect, on);
    for (const path of same) {
      const values = new Set(seen.map((request) => JSON.stringify(at(request, path))));
      assert.equal(values.size, 1, `${on}: ${path} is not the same: ${[...values]}`);
      assert.ok(at(seen[0], path) != null, `${on}: ${path} is missing`);
    }
    if (gap_ms_min === undefined) return;
    seen.slice(1).forEach((request, index) => assert.ok(request.at - seen[index].at >= gap_ms_min, `${on}: repeated after ${request.at - seen[index].at} ms`));
  }

  async do_start_worker({start_worker: {name = 'w', concurrency = 1, lease = '30s', grace = '1s', handlers}}) {
    const worker = new windlass.Worker(this.client, this.names.queue, {name, concurrency, lease, grace, stopWait: '500ms', logger: false});
    for (const [kind, actions] of Object.entries(bytes(handlers))) worker.handle(kind, handlerOf(kind, actions, this.handled));
    this.workers.set(name, {worker, run: worker.run()});
  }

  async do_stop_worker({stop_worker: name}) {
    const {worker, run} = this.workers.get(name);
    this.workers.delete(name);
    await worker.stop();
    await run;
  }

  async do_handled({handled}) {
    for (const [kind, expected] of Object.entries(handled)) {
      const isEqual = () => Object.entries(expected).every(([what, count]) => this.handled.count(kind, what) === count);
      await eventually(isEqual).catch(() => assert.fail(`handlers of ${kind}: expected ${JSON.stringify(expected)}, got ${this.handled.describe(kind)}`));
    }
  }

  do_unblock({unblock: kind}) {
    this.handled.unblock(kind);
  }

  async do_server({server: action}) {
    if (action !== 'start') {
      await this.proxy.down();
      await this.server.down();
    }
    if (action !== 'stop') {
      await this.server.up();
      await this.proxy.up();
    }
  }

  async close() {
    this.handled.unblockAll();
    for (const {worker, run} of this.workers.values()) {
      await worker.stop({grace: 0});
      await run.catch(() => {});
    }
    this.client.close();
  }
}

/** Shifts the wall clock, and returns a function that resets it. */
function shiftClock(shift) {
  const Real = globalThis.Date;
  const ms = (shift.startsWith('-') ? -1 : 1) * 864e5 * parseInt(shift.replace('-', ''), 10);
  assert.match(shift, /^-?\d+d$/);
  globalThis.Date = class extends Real {
    constructor(...words) {
      super(...(words.length > 0 ? words : [Real.now() + ms]));
    }
    static now() {
      return Real.now() + ms;
    }
  };
  return () => (globalThis.Date = Real);
}

async function runCase(one, queue, shared) {
  const server = one.token ? await Server.start('sqlite', {token: one.token}) : shared;
  const proxy = await Proxy.start(server.url);
  const resetClock = one.clock ? shiftClock(one.clock) : () => {};
  const runner = new Runner(one, queue, server, proxy);
  try {
    for (const [index, step] of one.steps.entries()) {
      await runner.step(step).catch((error) => {
        error.message = `step ${index + 1} ${JSON.stringify(step)}: ${error.message}`;
        throw error;
      });
    }
  } finally {
    await runner.close();
    resetClock();
    await proxy.stop();
    if (server !== shared) await server.stop();
  }
}

/** Defines a test per case. */
export function testCases(store) {
  assert.ok(FILES.length > 0, `no cases in ${FOLDER}`);
  let server;
  before(async () => (server = await Server.start(store)));
  after(() => server.stop());
  let number = 0;
  for (const file of FILES) {
    const {about, cases} = JSON.parse(readFileSync(`${FOLDER}/cases/${file}`, 'utf8'));
    describe(`${store}: ${about}`, () => {
      for (const one of cases) {
        const queue = `case-${++number}`;
        test(one.name, {timeout: CASE_MS + 5_000}, () => runCase(one, queue, server));
      }
    });
  }
}
