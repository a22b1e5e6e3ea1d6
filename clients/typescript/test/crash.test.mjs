// Workers and servers that die: nothing is lost, and nothing is completed twice.
import assert from 'node:assert/strict';
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {existsSync, mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {test} from 'node:test';
import {fileURLToPath} from 'node:url';
import {Client} from '../dist/index.js';
import {ended, eventually, Server, STORES} from './support/server.mjs';

const JOBS = 1_000;
const LEASE_MS = 2_000;
const PROGRAM = fileURLToPath(new URL('support/crash-worker.mjs', import.meta.url));

/** A queue with 1 000 jobs, and worker processes that are ended with the test. */
async function fixture(t, store) {
  const server = await Server.start(store);
  const folder = mkdtempSync(join(tmpdir(), 'windlass-ts-'));
  const ledger = join(folder, 'ledger');
  const client = new Client({url: server.url});
  const workers = [];
  t.after(async () => {
    await Promise.all(workers.map((worker) => ended(worker, 'SIGTERM')));
    client.close();
    await server.stop();
    rmSync(folder, {recursive: true});
  });
  await client.enqueueMany('crash', Array.from({length: JOBS}, (_, payload) => ({payload, kind: 'note'})));
  /** The jobs that ran, and when. */
  const runs = () => {
    const text = existsSync(ledger) ? readFileSync(ledger, 'utf8') : '';
    return text.split('\n').slice(0, -1).map((line) => line.split(' ').map(Number));
  };
  return {
    server, client, workers, runs,
    start: () => workers.push(spawn(process.execPath, [PROGRAM, server.url, 'crash', ledger, `${LEASE_MS}ms`], {stdio: 'inherit'})),
    ran: (count) => eventually(() => new Set(runs().map(([job]) => job)).size >= count, 20_000),
    succeeded: () => eventually(async () => (await client.stats('crash')).total.succeeded === JOBS, 20_000),
  };
}

for (const store of STORES) {
  test(`${store}: jobs of a killed worker are rescued within its lease and a second`, async (t) => {
    const {client, workers, runs, start, ran, succeeded} = await fixture(t, store);
    start();
    await ran(JOBS / 4);
    workers[0].kill('SIGKILL');
    await once(workers[0], 'exit');
    const killedAt = Date.now();
    assert.ok(runs().length < JOBS, 'the worker was killed too late');
    start();
    await ran(JOBS);
    await succeeded();
    const {ready, running, dead, total} = await client.stats('crash');
    assert.deepEqual({ready, running, dead}, {ready: 0, running: 0, dead: 0});
    assert.ok(total.rescued > 0, 'the worker was killed between two jobs');
    // The other jobs need about a second: only the lease of the dead worker can delay the last.
    const tookMs = Math.max(...runs().map(([, at]) => at)) - killedAt;
    assert.ok(tookMs < LEASE_MS + 1_000, `the last job ran ${tookMs} ms after the kill`);
  });

  for (const signal of ['SIGTERM', 'SIGKILL']) {
    test(`${store}: workers go on when the server restarts under load after ${signal}`, async (t) => {
      const {server, client, workers, runs, start, ran, succeeded} = await fixture(t, store);
      start();
      start();
      for (const part of [1, 2, 3]) {
        await ran((JOBS * part) / 5);
        await server.down(signal);
        await server.up();
      }
      await ran(JOBS);
      await succeeded();
      const {total} = await client.stats('crash');
      assert.deepEqual([total.enqueued, total.succeeded], [JOBS, JOBS]);
      assert.deepEqual(workers.map(({exitCode, signalCode}) => exitCode ?? signalCode), [null, null], 'a worker ended');
      assert.deepEqual(runs().map(([job]) => job).sort((a, b) => a - b), [...Array(JOBS).keys()], 'every job ran once, since every lease was kept');
    });
  }
}
