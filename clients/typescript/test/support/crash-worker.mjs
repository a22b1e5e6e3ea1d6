// A worker process for the crash tests: its handler appends each job to a ledger outside of the store.
import {openSync, writeSync} from 'node:fs';
import {setTimeout as sleep} from 'node:timers/promises';
import {Client, Worker} from '../../dist/index.js';

const [url, queue, ledger, lease] = process.argv.slice(2);
const file = openSync(ledger, 'a');
const worker = new Worker(new Client({url}), queue, {concurrency: 4, lease, grace: '5s', logger: false});
worker.handle('note', async ({payload}) => {
  await sleep(5);
  writeSync(file, `${payload} ${Date.now()}\n`);
});
await worker.run();
