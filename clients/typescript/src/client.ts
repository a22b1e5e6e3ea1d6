// The client: enqueues, reads and changes jobs, queues, groups and schedules over the HTTP API.
import {randomUUID} from 'node:crypto';
import {type Content, decodePayload, decodeResult, type Duration, duration, fromWire, milliseconds, segment, toWire} from './codec.js';
import {WaitTimeoutError, type WindlassError} from './errors.js';
import {Connections} from './http.js';
import {request} from './request.js';
import {currentTrace, type Trace} from './trace.js';
import type {
  CallOptions, Changed, EndedJob, EnqueueOptions, Enqueued, Explanation, Filter, Group, GroupLimits, Job, JobRef, NewJob, PageOptions, QueueStats, Schedule,
  ScheduleDefinition, WorkerInfo,
} from './model.js';

export interface ClientOptions {
  /** URL of `windlass serve` (default: `WINDLASS_URL`, or http://127.0.0.1:7700). */
  url?: string | URL;
  /** Access token (default: `WINDLASS_HTTP_TOKEN`). */
  token?: string;
  /** How long a request is repeated while the server is away or busy (default: 30s). */
  retryFor?: Duration;
  /** How long a reply may take, in addition to the time that a request waits on the server (default: 30s). */
  timeout?: Duration;
  /** Send the token without TLS to another machine (default: false). */
  insecure?: boolean;
  /** The trace that new jobs belong to (default: that of the job being handled). */
  trace?: () => Trace | undefined;
}

/** A kind of job of a queue, with the types of its payload and its result. */
export interface JobType<Payload, Result> {
  readonly queue: string;
  readonly kind: string;
  readonly __types?: (payload: Payload) => Result;
}

/** Defines a kind of job once, for `client.enqueue` and `worker.handle`. */
export function defineJob<Payload = unknown, Result = void>(queue: string, kind: string): JobType<Payload, Result> {
  return {queue, kind};
}

export interface RequestOptions extends CallOptions {
  /** Whether a repeated request has the effect of one (default: only for GET and PUT). */
  repeatable?: boolean;
  headers?: Record<string, string>;
  /** How long the server waits before it replies. */
  wait?: Duration;
  retryFor?: Duration;
  onRetry?: (error: WindlassError) => void;
}

/** Longest wait of one request; the server allows a minute. */
const WAIT_MAX_MS = 20_000;

export class Client {
  readonly url: string;
  readonly #connections: Connections;
  readonly #retryForMs: number;
  readonly #timeoutMs: number;
  readonly #trace: () => Trace | undefined;

  constructor(options: ClientOptions = {}) {
    const url = new URL(options.url ?? process.env.WINDLASS_URL ?? 'http://127.0.0.1:7700');
    const token = options.token ?? process.env.WINDLASS_HTTP_TOKEN;
    if (token && !options.insecure) checkTokenIsSafe(url);
    this.url = url.href.replace(/\/$/, '');
    this.#retryForMs = milliseconds(options.retryFor ?? '30s');
    this.#timeoutMs = milliseconds(options.timeout ?? '30s');
    this.#trace = options.trace ?? currentTrace;
    this.#connections = new Connections(url, token ? {authorization: `Bearer ${token}`} : {});
  }

  /** Sends any request of the HTTP API, with the names of the API or as JSON text, and returns its reply. */
  async request<Reply = unknown>(method: string, path: string, body?: object | string, options: RequestOptions = {}): Promise<Reply> {
    const reply = await request(this.#connections, {
      method,
      path,
      headers: options.headers,
      body: typeof body === 'object' ? JSON.stringify(body) : body,
      signal: options.signal,
      timeoutMs: this.#timeoutMs + milliseconds(options.wait ?? 0),
      isRepeatable: options.repeatable ?? (method === 'GET' || method === 'PUT'),
      retryForMs: options.retryFor === undefined ? this.#retryForMs : milliseconds(options.retryFor),
      onRetry: options.onRetry,
    });
    return reply as Reply;
  }

  /** Closes idle connections. The client can still be used. */
  close(): void {
    this.#connections.close();
  }

  /** Adds a job to a queue. A lost reply is repeated and creates no second job. */
  enqueue<Payload, Result>(type: JobType<Payload, Result>, payload: Payload, options?: Omit<EnqueueOptions, 'kind'>): Promise<Enqueued<Result>>;
  enqueue<Payload = Content, Result = unknown>(queue: string, payload?: Payload, options?: EnqueueOptions): Promise<Enqueued<Result>>;
  async enqueue(target: string | JobType<unknown, unknown>, payload?: unknown, options: EnqueueOptions = {}): Promise<Enqueued> {
    const {idempotencyKey, signal, ...fields} = options;
    const queue = typeof target === 'string' ? target : target.queue;
    const kind = typeof target === 'string' ? fields.kind : target.kind;
    return fromWire(await this.#enqueue(`${queuePath(queue)}/jobs`, toWire({...fields, kind, payload}), idempotencyKey, signal));
  }

  /** Adds up to 10 000 jobs in one request. The replies are in the same order. */
  async enqueueMany<Payload = Content>(queue: string, jobs: readonly NewJob<Payload>[], options: CallOptions & {idempotencyKey?: string} = {}): Promise<Enqueued[]> {
    const body = {jobs: jobs.map(toWire)};
    const reply = await this.#enqueue(`${queuePath(queue)}/jobs/batch`, body, options.idempotencyKey, options.signal);
    return fromWire((reply as {jobs: unknown}).jobs);
  }

  #enqueue(path: string, body: object, key: string = randomUUID(), signal?: AbortSignal): Promise<unknown> {
    const headers: Record<string, string> = {'idempotency-key': key};
    const trace = this.#trace();
    if (trace) Object.assign(headers, trace);
    return this.request('POST', path, body, {headers, signal, repeatable: true});
  }

  /** Everything known about a job. */
  async get<Payload = unknown, Result = unknown>(queue: string, id: string, options?: CallOptions): Promise<Job<Payload, Result>>;
  async get<Result = unknown>(job: JobRef<Result>, options?: CallOptions): Promise<Job<unknown, Result>>;
  async get(job: string | JobRef, ...rest: (string | CallOptions | undefined)[]): Promise<Job> {
    const [path, options] = located(job, rest);
    return jobOf(await this.request('GET', path, undefined, options));
  }

  /** Waits until a job has ended (default: without limit). Its state says how. */
  async wait<Payload = unknown, Result = unknown>(queue: string, id: string, options?: CallOptions & {timeout?: Duration}): Promise<EndedJob<Payload, Result>>;
  async wait<Result = unknown>(job: JobRef<Result>, options?: CallOptions & {timeout?: Duration}): Promise<EndedJob<unknown, Result>>;
  async wait(job: string | JobRef, ...rest: (string | CallOptions | undefined)[]): Promise<EndedJob> {
    const [path, options] = located<CallOptions & {timeout?: Duration}>(job, rest);
    const limit = options.timeout === undefined ? Infinity : milliseconds(options.timeout);
    const began = performance.now();
    for (;;) {
      const wait = Math.max(0, Math.min(WAIT_MAX_MS, limit - (performance.now() - began)));
      try {
        const query = `timeout=${duration(wait)}`;
        return jobOf(await this.request('GET', `${path}/wait?${query}`, undefined, {signal: options.signal, wait}));
      } catch (error) {
        if (!(error instanceof WaitTimeoutError) || performance.now() - began >= limit) throw error;
      }
    }
  }

  /** Cancels a job; a running one is asked to stop (`outcome` is `will_stop`). */
  cancel(queue: string, id: string, options?: CallOptions): Promise<Changed> {
    return this.#change('cancel', queue, id, options);
  }

  /** Makes a dead job ready again. */
  retry(queue: string, id: string, options?: CallOptions): Promise<Changed> {
    return this.#change('retry', queue, id, options);
  }

  /** Makes a scheduled job ready now. */
  promote(queue: string, id: string, options?: CallOptions): Promise<Changed> {
    return this.#change('promote', queue, id, options);
  }

  /** Deletes a finished job and forgets its id. */
  async delete(queue: string, id: string, options?: CallOptions): Promise<Changed> {
    return fromWire(await this.request('DELETE', jobPath(queue, id), undefined, options));
  }

  async #change(change: string, queue: string, id: string, options?: CallOptions): Promise<Changed> {
    return fromWire(await this.request('POST', `${jobPath(queue, id)}/${change}`, {}, options));
  }

  /** Why a job waits, and when it probably starts. */
  async explain(queue: string, id: string, options?: CallOptions): Promise<Explanation> {
    return fromWire(await this.request('GET', `${jobPath(queue, id)}/why`, undefined, options));
  }

  /** All jobs of a queue that match a filter, read page by page, without payloads and results. */
  async *list(queue: string, filter: Filter & PageOptions = {}): AsyncGenerator<Job, void, undefined> {
    for await (const page of this.listPages(queue, filter)) yield* page.jobs;
  }

  /** The same, as pages. */
  listPages(queue: string, filter: Filter & PageOptions = {}): AsyncGenerator<{jobs: Job[]; next: string | null}, void, undefined> {
    return pages(filter, async (query, options) => {
      const reply = await this.request<{jobs: object[]; next?: string | null}>('GET', `${queuePath(queue)}/jobs${query}`, undefined, options);
      return {jobs: reply.jobs.map(jobOf), next: reply.next ?? null};
    });
  }

  /** Stats of all queues. */
  async queues(options?: CallOptions): Promise<QueueStats[]> {
    return fromWire(await this.request('GET', '/v1/queues', undefined, options));
  }

  /** Stats of a queue. */
  async stats(queue: string, options?: CallOptions): Promise<QueueStats> {
    return fromWire(await this.request('GET', queuePath(queue), undefined, options));
  }

  /** Pauses a queue: its jobs are not handed out. */
  async pause(queue: string, options?: CallOptions): Promise<QueueStats> {
    return fromWire(await this.request('POST', `${queuePath(queue)}/pause`, {}, {...options, repeatable: true}));
  }

  async resume(queue: string, options?: CallOptions): Promise<QueueStats> {
    return fromWire(await this.request('POST', `${queuePath(queue)}/resume`, {}, {...options, repeatable: true}));
  }

  /** Settings of a queue, by name. */
  async settings(queue: string, options?: CallOptions): Promise<Record<string, string>> {
    const reply = await this.request<{settings: Record<string, string>}>('GET', `${queuePath(queue)}/settings`, undefined, options);
    return reply.settings;
  }

  /** Changes settings of a queue, such as `{keep_succeeded: 'all'}`. */
  async set(queue: string, settings: Record<string, string>, options?: CallOptions): Promise<Record<string, string>> {
    const reply = await this.request<{settings: Record<string, string>}>('PUT', `${queuePath(queue)}/settings`, {settings}, options);
    return reply.settings;
  }

  /** All groups of a queue, by name. */
  async *groups(queue: string, options: PageOptions = {}): AsyncGenerator<Group, void, undefined> {
    for await (const page of this.#pages<{groups: Group[]; next: string | null}>(`${queuePath(queue)}/groups`, options)) yield* page.groups;
  }

  async group(queue: string, group: string, options?: CallOptions): Promise<Group> {
    return fromWire(await this.request('GET', groupPath(queue, group), undefined, options));
  }

  /** Changes the limits of a group. */
  async setGroup(queue: string, group: string, limits: GroupLimits, options?: CallOptions): Promise<Group> {
    return fromWire(await this.request('PUT', groupPath(queue, group), toWire(limits), options));
  }

  async pauseGroup(queue: string, group: string, options?: CallOptions): Promise<Group> {
    return fromWire(await this.request('POST', `${groupPath(queue, group)}/pause`, {}, {...options, repeatable: true}));
  }

  async resumeGroup(queue: string, group: string, options?: CallOptions): Promise<Group> {
    return fromWire(await this.request('POST', `${groupPath(queue, group)}/resume`, {}, {...options, repeatable: true}));
  }

  /** All schedules of a queue, by name. */
  async *schedules(queue: string, options: PageOptions = {}): AsyncGenerator<Schedule, void, undefined> {
    for await (const page of this.#pages<{schedules: Schedule[]; next: string | null}>(`${queuePath(queue)}/schedules`, options)) yield* page.schedules;
  }

  async schedule(queue: string, name: string, options?: CallOptions): Promise<Schedule> {
    return fromWire(await this.request('GET', schedulePath(queue, name), undefined, options));
  }

  /** Creates or changes a schedule; an identical one changes nothing. */
  async putSchedule(queue: string, name: string, definition: ScheduleDefinition, options?: CallOptions): Promise<Schedule> {
    return fromWire(await this.request('PUT', schedulePath(queue, name), toWire(definition), options));
  }

  /** Enqueues a job of a schedule now. */
  async runSchedule(queue: string, name: string, options: CallOptions & {force?: boolean} = {}): Promise<Enqueued> {
    const {force, ...call} = options;
    return fromWire(await this.request('POST', `${schedulePath(queue, name)}/run`, toWire({force}), call));
  }

  async deleteSchedule(queue: string, name: string, options?: CallOptions): Promise<void> {
    await this.request('DELETE', schedulePath(queue, name), undefined, options);
  }

  async pauseSchedule(queue: string, name: string, options?: CallOptions): Promise<void> {
    await this.request('POST', `${schedulePath(queue, name)}/pause`, {}, {...options, repeatable: true});
  }

  async resumeSchedule(queue: string, name: string, options?: CallOptions): Promise<void> {
    await this.request('POST', `${schedulePath(queue, name)}/resume`, {}, {...options, repeatable: true});
  }

  /** Workers seen recently. */
  async workers(options?: CallOptions): Promise<WorkerInfo[]> {
    return fromWire(await this.request('GET', '/v1/workers', undefined, options));
  }

  #pages<Page extends {next: string | null}>(path: string, options: PageOptions): AsyncGenerator<Page, void, undefined> {
    return pages(options, async (query, call) => fromWire<Page>(await this.request('GET', path + query, undefined, call)));
  }
}

const queuePath = (queue: string) => `/v1/queues/${segment(queue)}`;
const jobPath = (queue: string, id: string) => `${queuePath(queue)}/jobs/${segment(id)}`;
const groupPath = (queue: string, group: string) => `${queuePath(queue)}/groups/${segment(group)}`;
const schedulePath = (queue: string, name: string) => `${queuePath(queue)}/schedules/${segment(name)}`;

/** The path and the options of a call with a queue and an id, or with a reference. */
function located<Options extends CallOptions>(job: string | JobRef, rest: (string | CallOptions | undefined)[]): [string, Options] {
  const [queue, id, options] = typeof job === 'string' ? [job, rest[0] as string, rest[1]] : [job.queue, job.id, rest[0]];
  return [jobPath(queue, id), (options ?? {}) as Options];
}

/** Reads pages until there is no next one. */
async function* pages<Page extends {next: string | null}>(
  options: PageOptions,
  read: (query: string, options: CallOptions) => Promise<Page>,
): AsyncGenerator<Page, void, undefined> {
  const {signal, ...fields} = options;
  for (let cursor: string | null | undefined = fields.cursor; cursor !== null; ) {
    const wire = Object.entries(toWire({...fields, cursor})).map(([name, value]) => [name, String(value)]);
    const query = new URLSearchParams(Object.fromEntries(wire)).toString();
    const page: Page = await read(query && `?${query}`, {signal});
    yield page;
    cursor = page.next ?? null;
  }
}

/** A job of a reply. */
function jobOf(reply: unknown): Job {
  const raw = reply as {payload?: string; payload_base64?: string; result?: string | null; result_base64?: string; headers?: Record<string, string>};
  const job = fromWire<Job & {payloadBase64?: string; resultBase64?: string}>(reply);
  delete job.payloadBase64;
  delete job.resultBase64;
  job.headers ??= {};
  job.attempts ??= [];
  job.payload = decodePayload(raw.payload, raw.payload_base64, raw.headers);
  job.result = decodeResult(raw.result, raw.result_base64);
  return job;
}

function checkTokenIsSafe(url: URL): void {
  const isLocal = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname);
  if (url.protocol === 'https:' || isLocal) return;
  throw new TypeError(`a token is not sent to ${url.host} without TLS: use https, or set insecure if you trust the network`);
}
