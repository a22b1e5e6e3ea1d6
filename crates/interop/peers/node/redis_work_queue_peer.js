// The real redis-work-queue client for Node, driven line by line from a test.
//
// A line is an operation and its arguments, separated by tabs. The reply is one line: `ok` with
// the result, or `failed` with the error. Every operation uses a new connection, so that a lost one
// affects only that operation.
'use strict';

const readline = require('node:readline');
const Redis = require('ioredis');
const {WorkQueue, Item, KeyPrefix} = require('@mevitae/redis-work-queue/dist/WorkQueue.js');

const queue = new WorkQueue(new KeyPrefix(process.argv[2]));

// Leases and completes until both lists are empty.
async function work(db, lease) {
  const handled = [];
  for (;;) {
    const item = await queue.lease(db, Number(lease), true, 1);
    if (item !== null) {
      const done = await queue.complete(db, item);
      handled.push(`${item.id}=${item.data}=${done}`);
    } else if ((await queue.queueLen(db)) === 0 && (await queue.processing(db)) === 0) {
      return handled;
    }
  }
}

async function perform(db, operation, args) {
  switch (operation) {
    case 'add':
    case 'add-unique':
      await queue.addItem(db, new Item(args[1], args[0]));
      return [];
    case 'add-many':
      for (let number = Number(args[1]); number < Number(args[2]); number++) {
        const name = `${args[0]}${number}`;
        await queue.addItem(db, new Item(`data of ${name}`, name));
      }
      return [];
    case 'lease':
    case 'lease-wait': {
      const item = await queue.lease(db, Number(args[0]), args.length > 1, Number(args[1]));
      return item === null ? ['none'] : ['item', item.id, String(item.data)];
    }
    case 'complete':
      return [String(await queue.complete(db, new Item('', args[0])))];
    case 'light-clean':
      await queue.lightClean(db);
      return [];
    case 'counts':
      return [String(await queue.queueLen(db)), String(await queue.processing(db))];
    case 'work':
      return await work(db, args[0]);
    default:
      throw new Error(`unknown operation: ${operation}`);
  }
}

async function main() {
  for await (const line of readline.createInterface({input: process.stdin})) {
    const [operation, port, ...args] = line.split('\t');
    const options = {host: '127.0.0.1', port: Number(port), retryStrategy: null, maxRetriesPerRequest: 0};
    const db = new Redis(options);
    // The operation reports a lost connection.
    db.on('error', () => {});
    let reply;
    try {
      reply = ['ok', ...(await perform(db, operation, args))];
    } catch (error) {
      reply = ['failed', String(error).replaceAll('\n', ' ')];
    }
    db.disconnect();
    process.stdout.write(reply.join('\t') + '\n');
  }
}

main();
