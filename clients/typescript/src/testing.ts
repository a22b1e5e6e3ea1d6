// Tests without a server: `inline` runs every enqueued job at once.
import {ActiveJob, type ClaimReply} from './attempt.js';
import {Snooze} from './errors.js';
import type {Client} from './client.js';
import type {Worker} from './worker.js';

/** A job that was enqueued, and how it ended. */
export interface InlineJob {
  id: string;
  queue: string;
  kind: string | null;
  payload: unknown;
  /** The other fields of the request, with the names of the HTTP API. */
  options: Record<string, unknown>;
  state: 'ready' | 'succeeded' | 'scheduled' | 'dead';
  result?: unknown;
  error?: unknown;
}

export interface InlineOptions {
  /** Whether `enqueue` throws what a handler throws; otherwise it is in `job.error` (default: true). */
  throwErrors?: boolean;
  /** Whether jobs run, or are only recorded (default: true). */
  run?: boolean;
}

type Fields = Record<string, unknown> & {id?: string; kind?: string; payload?: unknown; payload_base64?: string; headers?: Record<string, string>};

/**
 * Runs jobs that `test` enqueues through the client of the worker, and records them in the list that it gets. Payloads go through JSON as they would on the
 * way to a server. A delay is ignored.
 */
export async function inline<T>(worker: Worker, test: (jobs: InlineJob[]) => Promise<T> | T, options: InlineOptions = {}): Promise<T> {
  const jobs: InlineJob[] = [];
  const request = async (method: string, path: string, body?: object | string): Promise<unknown> => {
    const [, queue, isBatch] = /^\/v1\/queues\/([^/]+)\/jobs(\/batch)?$/.exec(path) ?? [];
    if (method !== 'POST' || !queue) throw new Error(`${method} ${path} is not available in the inline mode`);
    const content = JSON.parse(JSON.stringify(body)) as Fields & {jobs: Fields[]};
    const replies: object[] = [];
    for (const fields of isBatch ? content.jobs : [content]) {
      const active = activeJob(decodeURIComponent(queue), fields, `inline-${jobs.length + 1}`);
      const {payload, payload_base64, kind, id, ...rest} = fields;
      const job: InlineJob = {id: active.id, queue: active.queue, kind: active.kind, payload: active.payload, options: rest, state: 'ready'};
      jobs.push(job);
      if (options.run ?? true) await run(worker, active, job);
      if ('error' in job && (options.throwErrors ?? true)) throw job.error;
      replies.push({id: job.id, queue: job.queue, state: job.state, duplicate: false, durability: 'memory'});
    }
    return isBatch ? {jobs: replies} : replies[0];
  };
  const client = worker.client as {request?: Client['request']};
  client.request = request as Client['request'];
  try {
    return await test(jobs);
  } finally {
    // The method of the class is visible again.
    delete client.request;
  }
}

function activeJob(queue: string, fields: Fields, id: string): ActiveJob {
  const headers = {...fields.headers};
  const isJson = fields.payload !== undefined && typeof fields.payload !== 'string';
  if (isJson) headers['content-type'] = 'application/json';
  const now = new Date().toISOString();
  const raw: ClaimReply = {
    id: fields.id ?? id, queue, token: 'inline', attempt: 1, max_attempts: Number(fields.max_attempts ?? 20), expiries: 0, kind: fields.kind ?? null,
    priority: Number(fields.priority ?? 5), headers, timeout_ms: null, created_at: now, due_at: now,
  };
  if (fields.payload_base64 !== undefined) raw.payload_base64 = fields.payload_base64;
  else if (fields.payload !== undefined) raw.payload = isJson ? JSON.stringify(fields.payload) : (fields.payload as string);
  return new ActiveJob(raw, {token: raw.token, worker: 'inline', until: Infinity, open: 1}, async () => {});
}

async function run(worker: Worker, active: ActiveJob, job: InlineJob): Promise<void> {
  try {
    job.result = await worker.call(active);
    job.state = 'succeeded';
  } catch (error) {
    job.state = error instanceof Snooze ? 'scheduled' : 'dead';
    if (job.state === 'dead') job.error = error;
  }
}
