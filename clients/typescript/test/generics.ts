// Compiled, not run: what the types accept and refuse.
import {Client, defineJob, Worker} from '../src/index.js';

const client = new Client();
const worker = new Worker(client, 'mail');
const add = defineJob<{a: number; b: number}, number>('mail', 'add');

export async function types(): Promise<void> {
  worker.handle(add, ({payload}) => payload.a + payload.b);
  // @ts-expect-error: the result is a number
  worker.handle(add, () => 'three');
  // @ts-expect-error: there is no such field
  worker.handle(add, ({payload}) => payload.c);
  // @ts-expect-error: a field is missing
  await client.enqueue(add, {a: 1});
  // @ts-expect-error: the kind is that of the job type
  await client.enqueue(add, {a: 1, b: 2}, {kind: 'other'});
  const ended = await client.wait(await client.enqueue(add, {a: 1, b: 2}));
  const sum: number | undefined = ended.result;
  // @ts-expect-error: the payload is not known
  worker.handle('other', ({payload}) => payload.a + sum);
  const job = await client.get<{to: string}>('mail', 'id');
  const to: string | undefined = job.payload?.to;
  for await (const {id} of client.list('mail', {state: 'dead'})) await client.retry('mail', id + to);
}
