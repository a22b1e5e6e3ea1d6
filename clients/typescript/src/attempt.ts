// One attempt of a claimed job: what a handler sees of it, and how it ends.
import {inspect} from 'node:util';
import {decodePayload, duration, encode} from './codec.js';
import {PermanentError, Snooze, StopError} from './errors.js';

/** A claimed job as the server sends it. */
export interface ClaimReply {
  id: string;
  queue: string;
  token: string;
  attempt: number;
  max_attempts: number;
  expiries: number;
  payload?: string;
  payload_base64?: string;
  kind: string | null;
  priority: number;
  group?: string;
  headers?: Record<string, string>;
  timeout_ms: number | null;
  created_at: string;
  due_at: string;
  seq?: number;
}

/** What a claim handed out: its jobs share a token. */
export interface Claim {
  readonly token: string;
  /** The worker id of the claim; a worker that registers again has another. */
  readonly worker: string;
  /** When this process gives the lease up, by `performance.now()`. */
  until: number;
  /** Jobs whose outcome the server has not confirmed. */
  open: number;
}

/** Reports progress of a job; it resolves when the server has it. */
export type Progress = (fraction: number, message?: string) => Promise<void>;

/** What a handler gets besides its job. */
export interface HandlerContext {
  /** Aborted when the job is cancelled, times out or loses its lease, or when the worker stops. The reason is a `StopError`. */
  readonly signal: AbortSignal;
  readonly progress: Progress;
}

export type OutcomeKind = 'complete' | 'fail' | 'snooze' | 'release';

/** How an attempt ended, as sent to the server. */
export interface Outcome {
  kind: OutcomeKind;
  job: ActiveJob;
  /** Its other fields as JSON, each after a comma. */
  fields: string;
  error?: string;
}

/** A job that a handler runs. */
export class ActiveJob<Payload = unknown> implements HandlerContext {
  /** @internal Whether the handler was called. */
  isStarted = false;
  /** @internal Whether its outcome was decided. */
  isDecided = false;
  /** @internal Why it was asked to stop. */
  stopReason: StopError | undefined;
  /** @internal */
  timer: NodeJS.Timeout | undefined;
  #controller: AbortController | undefined;
  #payload: {value: Payload} | undefined;
  readonly #raw: ClaimReply;
  readonly #report: (job: ActiveJob, fraction: number, message?: string) => Promise<void>;

  /** @internal */
  constructor(
    raw: ClaimReply,
    readonly claim: Claim,
    report: (job: ActiveJob, fraction: number, message?: string) => Promise<void>,
  ) {
    this.#raw = raw;
    this.#report = report;
  }

  get id(): string {
    return this.#raw.id;
  }
  get queue(): string {
    return this.#raw.queue;
  }
  get kind(): string | null {
    return this.#raw.kind;
  }
  /** Which attempt this is, from 1. */
  get attempt(): number {
    return this.#raw.attempt;
  }
  get maxAttempts(): number {
    return this.#raw.max_attempts;
  }
  get expiries(): number {
    return this.#raw.expiries;
  }
  get priority(): number {
    return this.#raw.priority;
  }
  get group(): string | undefined {
    return this.#raw.group;
  }
  get headers(): Record<string, string> {
    return this.#raw.headers ?? {};
  }
  get timeoutMs(): number | null {
    return this.#raw.timeout_ms;
  }
  get createdAt(): string {
    return this.#raw.created_at;
  }
  get dueAt(): string {
    return this.#raw.due_at;
  }

  get payload(): Payload {
    const {payload, payload_base64, headers} = this.#raw;
    this.#payload ??= {value: decodePayload(payload, payload_base64, headers) as Payload};
    return this.#payload.value;
  }

  // Created on demand: most handlers use neither of the two, and an AbortController per job is not free.
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.stopReason) this.#controller.abort(this.stopReason);
    return this.#controller.signal;
  }

  get progress(): Progress {
    return (fraction, message) => this.#report(this, fraction, message);
  }

  /** @internal Asks the handler to stop. The first reason stays. */
  stop(reason: StopError): void {
    this.stopReason ??= reason;
    this.#controller?.abort(this.stopReason);
  }
}

/** The outcome of a handler that returned. */
export function succeeded(job: ActiveJob, result: unknown): Outcome {
  if (job.stopReason?.reason === 'timed_out') return timedOut(job);
  if (result === undefined) return {kind: 'complete', job, fields: ''};
  try {
    return {kind: 'complete', job, fields: json(encode('result', result))};
  } catch (error) {
    // The work was done, and must not be repeated.
    return failure(job, `the result is not JSON: ${error}`, true);
  }
}

/** The outcome of a handler that threw. */
export function failed(job: ActiveJob, error: unknown): Outcome {
  const reason = job.stopReason?.reason;
  if (reason === 'timed_out') return timedOut(job);
  // The server ends a released job as cancelled if that was requested.
  if (reason === 'worker_stopping' || reason === 'cancelled') return released(job);
  if (error instanceof Snooze) return {kind: 'snooze', job, fields: json({delay: duration(error.delay), scope: error.scope})};
  return failure(job, error instanceof Error ? inspect(error) : String(error), error instanceof PermanentError);
}

export const timedOut = (job: ActiveJob) => failure(job, `the attempt timed out after ${job.timeoutMs} ms`);

export const released = (job: ActiveJob): Outcome => ({kind: 'release', job, fields: ''});

export const failure = (job: ActiveJob, error: string, permanent = false): Outcome => ({kind: 'fail', job, fields: json({error, permanent}), error});

const json = (fields: object) => `,${JSON.stringify(fields).slice(1, -1)}`;
