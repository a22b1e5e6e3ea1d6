// The benchmark on bee-queue, with everything off that its README recommends to disable when unused. Stalled jobs are checked, which
// makes jobs survive a crash.
'use strict';

const {run} = require('./contract.js');
const Queue = require('bee-queue');

run(async (asked) => {
  const {hostname, port} = new URL(asked.url);
  const isWorker = ['worker', 'process'].includes(asked.scenario);
  const queue = new Queue('bench', {
    redis: {host: hostname, port: Number(port)},
    isWorker,
    getEvents: false,
    sendEvents: false,
    storeJobs: false,
    removeOnSuccess: true,
    removeOnFailure: true,
  });
  await queue.ready();
  return {
    enqueue: (data) => queue.createJob({data}).save(),
    enqueueMany: async (many) => {
      const failed = await queue.saveAll(many.map((data) => queue.createJob({data})));
      if (failed.size > 0) throw failed.values().next().value;
    },
    start: async (handle) => {
      queue.process(asked.concurrency, (job) => handle(job.data.data));
      await queue.checkStalledJobs(5000);
      return () => queue.close(5000);
    },
  };
});
