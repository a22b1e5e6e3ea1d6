// The benchmark on the TypeScript client of Windlass: one Node process, through a `windlass serve` on the same Redis.
//
// The server is started here for each scenario, from WINDLASS_BIN or target/release. Its CPU is not part of what the benchmark reads from Redis, so it is
// printed to stderr, with that of this process, as microseconds per job.
'use strict';

const {execFileSync, spawn} = require('node:child_process');
const {once} = require('node:events');
const {readFileSync, writeFileSync} = require('node:fs');
const path = require('node:path');
const {run} = require('./contract.js');

const ROOT = process.env.WINDLASS_ROOT ?? path.resolve(__dirname, '../../..');
const QUEUE = 'bench';
const KIND = 'noop';

// Microseconds of CPU of a process.
function cpuUs(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').pop().split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 1e4;
}

async function startServer(asked) {
  const binary = process.env.WINDLASS_BIN ?? path.join(ROOT, 'target/release/windlass');
  const words = ['--store', asked.url, 'serve', '--listen', '127.0.0.1:0', '--quiet'];
  const server = spawn(binary, words, {stdio: ['ignore', 'pipe', 'inherit']});
  const [line] = await once(server.stdout, 'data');
  const began = cpuUs(server.pid);
  process.on('exit', () => {
    const {user, system} = process.cpuUsage();
    const each = (us) => Math.round(us / asked.jobs);
    process.stderr.write(`CPU per job: server ${each(cpuUs(server.pid) - began)} us, this process ${each(user + system)} us\n`);
    server.kill();
  });
  return String(line).trim();
}

// Compiles the client of this repository next to this program. Its version does not change with every commit, so an installed copy would be old.
function compile() {
  const tsc = path.join(__dirname, 'node_modules/typescript/bin/tsc');
  const project = path.join(ROOT, 'clients/typescript/tsconfig.build.json');
  const types = path.join(__dirname, 'node_modules/@types');
  execFileSync(process.execPath, [tsc, '--project', project, '--outDir', path.join(__dirname, 'windlass'), '--typeRoots', types, '--incremental']);
  writeFileSync(path.join(__dirname, 'windlass/package.json'), '{"type": "module"}');
}

run(async (asked) => {
  // The worker of `pickup` is a child, and uses the server of its parent.
  if (asked.scenario !== 'worker') {
    compile();
    process.env.BENCH_URL = await startServer(asked);
  }
  const {Client, Worker} = await import('./windlass/index.js');
  const client = new Client({url: process.env.BENCH_URL});
  return {
    enqueue: (data) => client.enqueue(QUEUE, data, {kind: KIND}),
    enqueueMany: (many) => client.enqueueMany(QUEUE, many.map((data) => ({payload: data, kind: KIND}))),
    start: async (handle) => {
      const worker = new Worker(client, QUEUE, {concurrency: asked.concurrency, prefetch: asked.concurrency, logger: false});
      worker.handle(KIND, ({payload}) => handle(payload));
      await worker.start();
      return () => worker.stop();
    },
  };
});
