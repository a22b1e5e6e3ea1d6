// The client and the worker beyond the protocol cases: errors, signals, iterators, traces and the inline mode.
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import * as windlass from '../dist/index.js';
import {inline} from '../dist/testing.js';
import {eventually, freePort, Server} from './support/server.mjs';

const TOKEN = 'correct-horse-battery-staple-0123456789';
const TRACE = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
let server;
let client;
before(async () => {
  server = await Server.start('sqlite', {token: TOKEN});
  client = new windlass.Client({url: server.url, token: TOKEN});
});
after(async () => {
  client.close();
  await server.stop();
});

const workerOf = (queue, options) => new windlass.Worker(client, queue, {logger: false, ...options});
const isError = (type, code) => (error) => {
  assert.ok(error instanceof type && error instanceof windlass.WindlassError, error.stack);
  assert.equal(error.code, code);
  assert.equal(error.name, type.name);
  assert.ok(error.help, 'the error has no help');
  return true;
};

test('a wrong token, a refused payload and a server that is away have an error class each', async () => {
  const denied = new windlass.Client({url: server.url, token: TOKEN.replace('correct', 'wrong')});
  await assert.rejects(denied.enqueue('q', 1), isError(windlass.AccessDeniedError, 'unauthorized'));
  await assert.rejects(new windlass.Worker(denied, 'q', {logger: false}).run(), isError(windlass.AccessDeniedError, 'unauthorized'));
  await assert.rejects(client.enqueue('q', 'x'.repeat(2 << 20)), isError(windlass.InvalidError, 'too_large'));
  const away = new windlass.Client({url: `http://127.0.0.1:${await freePort()}`, retryFor: '200ms'});
  await assert.rejects(away.enqueue('q', 1), isError(windlass.ServerAwayError, 'server_away'));
  assert.throws(() => new windlass.Client({url: 'http://example.org', token: TOKEN}), /without TLS/);
});

test('a signal ends a call that waits, and one that is being repeated', async () => {
  const {id} = await client.enqueue('signals', 1);
  const reason = new Error('enough');
  const waits = new AbortController();
  const waiting = client.wait('signals', id, {signal: waits.signal});
  waits.abort(reason);
  await assert.rejects(waiting, reason);
  const away = new windlass.Client({url: `http://127.0.0.1:${await freePort()}`});
  await assert.rejects(away.enqueue('signals', 1, {signal: AbortSignal.timeout(100)}), {name: 'TimeoutError'});
  await assert.rejects(client.get('signals', id, {signal: AbortSignal.abort(reason)}), reason);
});

test('a list is an async iterator over all pages', async () => {
  await client.enqueueMany('pages', Array.from({length: 25}, (_, number) => ({id: `job-${number}`, payload: number})));
  const ids = new Set();
  for await (const {id} of client.list('pages', {limit: 10})) ids.add(id);
  assert.equal(ids.size, 25);
  for await (const {id} of client.list('pages', {limit: 10})) if (ids.delete(id)) break;
  assert.equal(ids.size, 24);
});

test('a worker that is stopped before the server is there ends without an error', async () => {
  const away = new windlass.Client({url: `http://127.0.0.1:${await freePort()}`});
  const worker = new windlass.Worker(away, 'q', {logger: false});
  const run = worker.run();
  await worker.stop();
  await run;
});

test('a result that cannot be stored is a permanent failure, and other jobs of the batch succeed', async () => {
  const worker = workerOf('results');
  worker.handle('large', () => 'x'.repeat(2 << 20)).handle('cyclic', () => {
    const cyclic = {};
    return Object.assign(cyclic, {cyclic});
  });
  worker.handle('fine', () => 'fine');
  const [large, cyclic, fine] = await client.enqueueMany('results', ['large', 'cyclic', 'fine'].map((kind) => ({kind})));
  await worker.start();
  assert.equal((await client.wait(fine, {timeout: '10s'})).result, 'fine');
  for (const job of [large, cyclic]) {
    const {state, reason, error} = await client.wait(job, {timeout: '10s'});
    assert.deepEqual([state, reason], ['dead', 'permanent'], error);
  }
  await worker.stop();
});

test('a trace goes from job to job', async () => {
  const worker = workerOf('traces');
  worker.handle('parent', () => client.enqueue('traces', null, {kind: 'child', id: 'child'}).then(() => {}));
  worker.handle('child', ({headers}) => headers.traceparent);
  await worker.start();
  await client.enqueue('traces', null, {kind: 'parent', headers: {traceparent: TRACE}});
  const child = await eventually(() => client.wait('traces', 'child', {timeout: '10s'}).catch(() => undefined));
  assert.equal(child.result, TRACE);
  await worker.stop();
});

test('logs are events with fields, and without payloads', async () => {
  const lines = [];
  const logger = Object.fromEntries(['debug', 'info', 'warn', 'error'].map((level) => [level, (fields) => lines.push({level, ...fields})]));
  const worker = workerOf('logs', {logger});
  await worker.start();
  const job = await client.enqueue('logs', 'secret', {kind: 'unknown', maxAttempts: 1});
  await client.wait(job, {timeout: '10s'});
  await worker.stop();
  // The worker may begin to stop before it gets the reply to its outcome.
  assert.deepEqual(lines.map(({event}) => event).sort(), ['job_dead', 'job_started', 'worker_draining', 'worker_started', 'worker_stopped']);
  assert.match(lines.find(({event}) => event === 'job_dead').error, /no handler for kind "unknown"/);
  assert.doesNotMatch(JSON.stringify(lines), /secret/);
});

test('jobs run inline in tests', async () => {
  const worker = workerOf('inline');
  worker.handle('greet', async ({payload}) => {
    await client.enqueue('inline', payload.name, {kind: 'shout', delay: '1h'});
    return `hello ${payload.name}`;
  });
  worker.handle('shout', ({payload}) => {
    if (payload === 'bob') throw new windlass.PermanentError('no bob');
    return payload.toUpperCase();
  });
  worker.handle('later', () => {
    throw new windlass.Snooze('5m');
  });
  await inline(worker, async (jobs) => {
    assert.equal((await client.enqueue('inline', {name: 'ann', at: new Date(0)}, {kind: 'greet'})).state, 'succeeded');
    assert.deepEqual(jobs.map(({result}) => result), ['hello ann', 'ANN']);
    assert.deepEqual([jobs[0].payload, jobs[1].options], [{name: 'ann', at: '1970-01-01T00:00:00.000Z'}, {delay: '1h'}]);
    assert.equal((await client.enqueue('inline', new Uint8Array([255]), {kind: 'later'})).state, 'scheduled');
    assert.deepEqual(jobs[2].payload, new Uint8Array([255]));
    await assert.rejects(client.enqueue('inline', 'bob', {kind: 'shout'}), windlass.PermanentError);
    await assert.rejects(client.stats('inline'), /not available in the inline mode/);
  });
  await inline(worker, async (jobs) => {
    await client.enqueueMany('inline', [{kind: 'shout', payload: 'bob'}, {kind: 'none'}]);
    assert.deepEqual(jobs.map(({state}) => state), ['dead', 'dead']);
  }, {throwErrors: false});
  const recorded = await inline(worker, async (jobs) => {
    await client.enqueue('inline', 'ann', {kind: 'shout'});
    return jobs;
  }, {run: false});
  assert.deepEqual(recorded.map(({state}) => state), ['ready']);
  assert.ok(Array.isArray(await client.queues()), 'the client calls its server again');
});
