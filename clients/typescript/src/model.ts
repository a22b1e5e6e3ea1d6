// What the methods of the client take and return. Names and meanings are those of docs/http.md, in camel case.
import type {Content, Duration} from './codec.js';

export type JobState = 'ready' | 'pending' | 'scheduled' | 'running' | 'succeeded' | 'dead' | 'cancelled';

/** A time: a date, RFC 3339, or unix seconds. */
export type Time = Date | string | number;

/** Options of every call. */
export interface CallOptions {
  signal?: AbortSignal;
}

/** Delays between attempts. */
export interface RetryDelays {
  first?: Duration;
  max?: Duration;
  jitter?: boolean;
  until?: Time;
}

/** The fields of a job besides its payload. */
export interface JobOptions {
  /** Enqueueing the same id again is a duplicate (default: generated). */
  id?: string;
  kind?: string;
  /** From 0 (first) to 9 (last) (default: 5). */
  priority?: number;
  group?: string;
  delay?: Duration;
  at?: Time;
  /** Only one live job of the queue may have it. */
  uniqueKey?: string;
  uniqueUntil?: 'end' | 'start';
  uniqueFor?: Duration;
  onDuplicate?: 'keep' | 'replace' | 'postpone' | 'replace,postpone';
  postponeMax?: Duration;
  /** (default: 20) */
  maxAttempts?: number;
  timeout?: Duration;
  /** Discard the job if it has not started by then. */
  expires?: Duration | Date;
  headers?: Record<string, string>;
  retry?: RetryDelays;
  /** Keep the job after it succeeded without a result, for a caller that waits. */
  keepOutcome?: boolean;
}

export interface EnqueueOptions extends JobOptions, CallOptions {
  /** Two calls with the same key create one job (default: generated per call). */
  idempotencyKey?: string;
}

/** A job of a batch. */
export interface NewJob<Payload = Content> extends JobOptions {
  payload?: Payload;
}

/** Identifies a job. `Result` is only a type. */
export interface JobRef<Result = unknown> {
  id: string;
  queue: string;
  readonly __result?: Result;
}

export interface Enqueued<Result = unknown> extends JobRef<Result> {
  state: JobState;
  /** Whether the job existed before. */
  duplicate: boolean;
  replaced?: boolean;
  postponed?: boolean;
  durability: string;
}

/** Everything that is known about a job. */
export interface Job<Payload = unknown, Result = unknown> {
  id: string;
  queue: string;
  state: JobState;
  kind: string | null;
  priority: number;
  group?: string;
  attempt: number;
  maxAttempts: number;
  /** How often a lease of the job expired. */
  expiries: number;
  progress: number | null;
  progressMessage: string | null;
  createdAt: string;
  dueAt: string;
  expiresAt: string | null;
  startedAt: string | null;
  finishedAt: string | null;
  timeoutMs: number | null;
  uniqueKey: string | null;
  schedule?: string;
  headers: Record<string, string>;
  /** Missing in lists. */
  payload: Payload | undefined;
  result: Result | undefined;
  error: string | null;
  attempts: {attempt: number; startedAt: string; endedAt: string; worker: string | null; how: 'failed' | 'expired'; error: string | null}[];
  reason: string | null;
  worker: string | null;
  leaseUntil?: string;
  cancelRequested: boolean;
}

/** A job that has ended; only its state is known if it was not kept. */
export type EndedJob<Payload = unknown, Result = unknown> = Job<Payload, Result> | {id: string; queue: string; state: JobState; result?: undefined; error?: undefined};

export interface Filter {
  state?: JobState;
  kind?: string;
  /** In the id, the payload or the error. */
  text?: string;
  olderThan?: Duration;
  newerThan?: Duration;
  worker?: string;
  minAttempt?: number;
  /** `NAME`, or `NAME=VALUE`. */
  header?: string;
  group?: string;
  errorGroup?: string;
}

export interface PageOptions extends CallOptions {
  /** Items per page. */
  limit?: number;
  /** `next` of the previous page. */
  cursor?: string;
}

export interface Changed {
  id: string;
  queue: string;
  outcome: string;
}

export interface QueueStats {
  queue: string;
  ready: number;
  pending: number;
  scheduled: number;
  running: number;
  succeeded: number;
  dead: number;
  cancelled: number;
  oldestMs: number | null;
  paused: boolean;
  restingMs?: number;
  readyByPriority: number[];
  bytes: number;
  schedules: number;
  total: {enqueued: number; succeeded: number; dead: number; cancelled: number; rescued: number};
  lastMinute: {enqueued: number; finished: number};
}

export interface GroupLimits {
  maxRunning?: number | 'none' | 'default';
  /** Such as `10/s`. */
  rate?: string;
  burst?: number | 'none' | 'default';
  paused?: boolean;
}

export interface Group {
  queue: string;
  group: string;
  ready: number;
  running: number;
  maxRunning: number | null;
  rate: string | null;
  burst: number | null;
  opensAt: string | null;
  restingUntil: string | null;
  paused: boolean;
  own: {maxRunning: string; rate: string; burst: string};
}

export interface ScheduleDefinition<Payload = Content> {
  cron?: string;
  /** Time zone of the pattern (default: UTC). */
  zone?: string;
  every?: Duration;
  anchor?: Time;
  jitter?: Duration;
  from?: Time;
  until?: Time;
  times?: number;
  missed?: 'skip' | 'last' | 'all';
  missedMax?: number;
  catchUp?: Duration;
  overlap?: 'skip' | 'allow' | 'buffer' | 'cancel';
  paused?: boolean;
  set?: string;
  job?: NewJob<Payload>;
}

export interface Schedule {
  queue: string;
  name: string;
  result?: 'created' | 'changed' | 'unchanged';
  cron: string | null;
  zone: string | null;
  every: string | null;
  paused: boolean;
  next: string[];
  fired: number;
  missed: number;
  skipped: number;
  current: string | null;
  waiting: string | null;
  history: {instant: string; firedAt: string; job: string | null; skipped: string | null}[];
  createdAt: string;
  revision: number;
}

/** Why a job waits. */
export interface Explanation {
  id: string;
  queue: string;
  state: JobState;
  reasons: {reason: string; until: string | null; detail: Record<string, unknown>}[];
  etaMs: number | null;
  etaBasis: string | null;
}

export interface WorkerInfo {
  id: string;
  name: string;
  host: string;
  pid: number;
  version: string;
  queues: string[];
  state: 'idle' | 'busy' | 'paused' | 'draining' | 'late' | 'lost';
  running: {queue: string; id: string}[];
  command: 'continue' | 'pause' | 'stop';
  startedAt: string;
  lastSeenAt: string;
}
