// The command line of every Node benchmark program, and the line it prints; see the README in `crates/bench/peers`.
'use strict';

const {fork} = require('node:child_process');

// Jobs of one bulk call, and the pause before the next job of `pickup`.
const BULK = 100;
const GAP_MS = 10;

function read() {
  const [scenario, ...words] = process.argv.slice(2);
  const option = (name) => words[words.indexOf(name) + 1];
  return {
    scenario,
    url: option('--url'),
    jobs: Number(option('--jobs')),
    payload: Number(option('--payload')),
    concurrency: Number(option('--concurrency')),
  };
}

const nowNs = () => BigInt(Math.round((performance.timeOrigin + performance.now()) * 1e6));

// The payload of a job: text that starts with its creation time.
const stamped = (asked) => `${String(nowNs()).padStart(20, '0')} `.padEnd(asked.payload, 'x');

const waitedMs = (data) => Number(nowNs() - BigInt(data.slice(0, 20))) / 1e6;

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// Also ends the program: open connections of a peer would keep it alive.
function tell(answer) {
  process.stdout.write(`${JSON.stringify(answer)}\n`, () => process.exit(0));
}

function tellRate(jobs, ms) {
  tell({jobs, seconds: ms / 1e3, per_s: jobs / (ms / 1e3)});
}

// One awaited call after the other.
async function enqueueOne(asked, enqueue) {
  const began = performance.now();
  for (let sent = 0; sent < asked.jobs; sent++) await enqueue(stamped(asked));
  tellRate(asked.jobs, performance.now() - began);
}

async function enqueueBulk(asked, enqueueMany) {
  const began = performance.now();
  for (let sent = 0; sent < asked.jobs; sent += BULK) {
    const size = Math.min(BULK, asked.jobs - sent);
    await enqueueMany(Array.from({length: size}, () => stamped(asked)));
  }
  tellRate(asked.jobs, performance.now() - began);
}

// `start` takes the handler and returns a function that stops the worker.
async function processAll(asked, start) {
  let done = 0;
  let began;
  let stop;
  const all = new Promise((resolve) => {
    stop = start(async () => {
      began ??= performance.now();
      if (++done === asked.jobs) resolve(performance.now() - began);
    });
  });
  const took = await all;
  await (await stop)();
  tellRate(asked.jobs, took);
}

// The worker is a separate process: it shares only the server with the producer.
async function pickup(asked, enqueue) {
  const worker = fork(process.argv[1], ['worker', ...process.argv.slice(3)]);
  const delays = [];
  let wake = () => {};
  worker.on('message', (message) => {
    if (message !== 'ready') delays.push(message);
    wake();
  });
  worker.on('exit', () => process.exit(1));
  const next = () => new Promise((resolve) => { wake = resolve; });
  await next();
  for (let sent = 1; sent <= asked.jobs; sent++) {
    await sleep(GAP_MS);
    const isStarted = next();
    await enqueue(stamped(asked));
    if (delays.length < sent) await isStarted;
  }
  worker.removeAllListeners('exit');
  worker.kill();
  delays.sort((one, other) => one - other);
  const at = (quantile) => delays[Math.ceil(quantile * delays.length) - 1];
  tell({p50_ms: at(0.5), p99_ms: at(0.99)});
}

// The other side of `pickup`.
async function work(start) {
  await start(async (data) => { process.send(waitedMs(data)); });
  process.send('ready');
}

// Runs the scenario with a peer's functions: `enqueue`, `start`, and optionally `enqueueMany`.
async function run(peerOf) {
  const asked = read();
  const peer = await peerOf(asked);
  switch (asked.scenario) {
    case 'enqueue-one': return enqueueOne(asked, peer.enqueue);
    case 'enqueue-bulk': return peer.enqueueMany ? enqueueBulk(asked, peer.enqueueMany) : tell(null);
    case 'process': return processAll(asked, peer.start);
    case 'pickup': return pickup(asked, peer.enqueue);
    case 'worker': return work(peer.start);
    default: throw new Error(`no such scenario: ${asked.scenario}`);
  }
}

module.exports = {run};
