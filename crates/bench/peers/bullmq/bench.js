// The benchmark on BullMQ: one worker with higher concurrency, finished jobs removed as its guide recommends.
'use strict';

const {run} = require('./contract.js');
const {Queue, Worker} = require('bullmq');

run(async (asked) => {
  const {hostname, port} = new URL(asked.url);
  const connection = {host: hostname, port: Number(port), maxRetriesPerRequest: null};
  const options = {removeOnComplete: true, removeOnFail: true};
  let queue;
  const open = async () => {
    queue ??= new Queue('bench', {connection, defaultJobOptions: options});
    await queue.waitUntilReady();
    return queue;
  };
  if (asked.scenario !== 'worker' && asked.scenario !== 'process') await open();
  return {
    enqueue: (data) => queue.add('noop', {data}),
    enqueueMany: (many) => queue.addBulk(many.map((data) => ({name: 'noop', data: {data}}))),
    start: async (handle) => {
      const worker = new Worker('bench', (job) => handle(job.data.data), {connection, concurrency: asked.concurrency});
      await worker.waitUntilReady();
      return () => worker.close();
    },
  };
});
