// The real redis-work-queue client for Node, driven line by line from a test.
//
// A line is an operation and its arguments, separated by tabs; the answer is one line: `ok` with
// what came out, or `failed` with why. Every operation has a connection of its own, so that a lost
// one ends that operation and nothing else.
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

async function perform(db, operation, words) {
  switch (operation) {
    case 'add':
    case 'add-unique':
      await queue.addItem(db, new Item(words[1], words[0]));
      return [];
    case 'add-many':
      for (let number = Number(words[1]); number < Number(words[2]); number++) {
        const name = `${words[0]}${number}`;
        await queue.addItem(db, new Item(`data of ${name}`, name));
      }
      return [];
    case 'lease':
    case 'lease-wait': {
      const item = await queue.lease(db, Number(words[0]), words.length > 1, Number(words[1]));
      return item === null ? ['none'] : ['item', item.id, String(item.data)];
    }
    case 'complete':
      return [String(await queue.complete(db, new Item('', words[0])))];
    case 'light-clean':
      await queue.lightClean(db);
      return [];
    case 'counts':
      return [String(await queue.queueLen(db)), String(await queue.processing(db))];
    case 'work':
      return await work(db, words[0]);
    default:
      throw new Error(`no such operation: ${operation}`);
  }
}

async function main() {
  for await (const line of readline.createInterface({input: process.stdin})) {
    const [operation, port, ...words] = line.split('\t');
    const options = {host: '127.0.0.1', port: Number(port), retryStrategy: null, maxRetriesPerRequest: 0};
    const db = new Redis(options);
    // A lost connection is told by the operation it ends.
    db.on('error', () => {});
    let answer;
    try {
      answer = ['ok', ...(await perform(db, operation, words))];
    } catch (error) {
      answer = ['failed', String(error).replaceAll('\n', ' ')];
    }
    db.disconnect();
    process.stdout.write(answer.join('\t') + '\n');
  }
}

main();
