// The worker: runs the handlers of claimed jobs in its slots, from its start to its graceful stop.
import {setTimeout as sleep} from 'node:timers/promises';
import {ActiveJob, type Claim, type ClaimReply, failed, type HandlerContext, type Outcome, released, succeeded, timedOut} from './attempt.js';
import type {Client, JobType} from './client.js';
import {type Duration, milliseconds, segment} from './codec.js';
import {Dispatcher} from './dispatch.js';
import {LeaseLostError, StopError, WindlassError} from './errors.js';
import {Leases} from './leases.js';
import {jsonLogger, type Logger} from './log.js';
import {Session} from './session.js';
import {runInTrace, traceOf} from './trace.js';

export type Handler<Payload = unknown, Result = unknown> = (job: ActiveJob<Payload>, context: HandlerContext) => Promise<Result> | Result;

export interface WorkerOptions {
  /** Jobs that run at once (default: 10). */
  concurrency?: number;
  /** Jobs claimed in addition, to start as soon as a slot is free (default: 0). */
  prefetch?: number;
  /** How long a job stays with this worker after its process died (default: 30s). */
  lease?: Duration;
  /** How long `stop` waits for running jobs (default: 25s). */
  grace?: Duration;
  /** How long a handler that was asked to stop may take (default: 5s). */
  stopWait?: Duration;
  /** Display name in `windlass workers` (default: `worker`). */
  name?: string;
  /** Whether `run` stops gracefully on SIGTERM and SIGINT; a second signal ends the grace period (default: true). */
  signals?: boolean;
  /** (default: JSON lines on stderr, from level info on; `false`: none) */
  logger?: Logger | false;
}

/** How many attempts ended how. */
export interface WorkerTotals {
  succeeded: number;
  failed: number;
  dead: number;
  released: number;
  snoozed: number;
  cancelled: number;
  lost: number;
}

const HEARTBEAT_MS = 2_000;
/** How long the last calls of a worker that stops may take. */
const LEAVE_MS = 5_000;
const TOTALS: Record<string, keyof WorkerTotals> = {
  completed: 'succeeded', scheduled: 'failed', dead: 'dead', released: 'released', snoozed: 'snoozed', cancelled: 'cancelled', lease_lost: 'lost', gone: 'lost',
};

export class Worker {
  readonly totals: WorkerTotals = {succeeded: 0, failed: 0, dead: 0, released: 0, snoozed: 0, cancelled: 0, lost: 0};
  readonly #handlers = new Map<string, Handler<any, any>>();
  readonly #session: Session;
  readonly #dispatcher: Dispatcher;
  readonly #leases: Leases;
  readonly #concurrency: number;
  readonly #capacity: number;
  readonly #graceMs: number;
  readonly #stopWaitMs: number;
  readonly #log: Logger;
  readonly #hasSignals: boolean;
  readonly #held = new Set<ActiveJob>();
  readonly #waiting: ActiveJob[] = [];
  #running = 0;
  #isStarted = false;
  #isPaused = false;
  #stopping: Promise<void> | undefined;
  #error: unknown;
  #hurry = () => {};
  #whenEmpty = () => {};
  #whenStopped = () => {};
  readonly #stopped = new Promise<void>((resolve) => (this.#whenStopped = resolve));

  constructor(readonly client: Client, readonly queue: string, options: WorkerOptions = {}) {
    const {concurrency = 10, prefetch = 0, name = 'worker', logger = jsonLogger} = options;
    if (!(concurrency >= 1)) throw new RangeError(`invalid concurrency: ${concurrency} is too small; minimum 1`);
    this.#concurrency = concurrency;
    this.#capacity = concurrency + prefetch;
    this.#graceMs = milliseconds(options.grace ?? '25s');
    this.#stopWaitMs = milliseconds(options.stopWait ?? '5s');
    this.#hasSignals = options.signals ?? true;
    this.#log = logger || {};
    this.#session = new Session(client, queue, name, milliseconds(options.lease ?? '30s'), this.#log);
    this.#dispatcher = new Dispatcher(
      this.#session,
      {
        free: () => this.#capacity - this.#held.size - this.#dispatcher.reserved,
        accept: (jobs, sentAt) => this.#accept(jobs, sentAt),
        start: () => this.#startWaiting(),
        confirmed: (outcome, status) => this.#confirmed(outcome, status),
        dropped: (job) => this.#leases.close(job.claim),
        failed: (error) => this.#fail(error),
      },
      () => this.#leases,
    );
    this.#leases = new Leases(this.#session, this.#held, () => this.#dispatcher.settled, (claim, jobs) => this.#lost(claim, jobs));
  }

  /** Sets the handler of a kind of job. `"*"` handles all kinds without one, and jobs without a kind. */
  handle<Payload, Result>(type: JobType<Payload, Result>, handler: Handler<Payload, Result>): this;
  handle<Payload = unknown, Result = unknown>(kind: string, handler: Handler<Payload, Result>): this;
  handle(type: string | JobType<any, any>, handler: Handler<any, any>): this {
    if (typeof type !== 'string' && type.queue !== this.queue) {
      throw new TypeError(`jobs of kind ${type.kind} are in queue ${type.queue}, but this worker serves ${this.queue}`);
    }
    this.#handlers.set(typeof type === 'string' ? type : type.kind, handler);
    return this;
  }

  /** The id in `windlass workers`. It changes if the server declares the worker dead. */
  get id(): string {
    return this.#session.id;
  }

  /** Runs until the worker is stopped. */
  async run(): Promise<void> {
    if (this.#hasSignals) this.#listen();
    await this.start().catch((error: unknown) => {
      // A worker that is stopped before the server is there has nothing to do.
      if (!this.#stopping) throw error;
    });
    await this.#stopped;
    if (this.#error) throw this.#error;
  }

  /** Registers the worker and begins to claim jobs. */
  async start(): Promise<void> {
    if (this.#isStarted) throw new Error('a worker can be started once; create another');
    this.#isStarted = true;
    await this.#session.register();
    const fields = {store: this.#session.client.url, queues: [this.queue], concurrency: this.#concurrency, worker: this.id};
    this.#log.info?.({event: 'worker_started', ...fields}, 'worker started');
    void this.#every(HEARTBEAT_MS, () => this.#heartbeat());
    void this.#every(this.#leases.renewMs, () => this.#leases.renew());
    const check = setInterval(() => this.#leases.giveUp(), this.#leases.checkMs);
    this.#session.abort.signal.addEventListener('abort', () => clearInterval(check));
    this.#updateClaiming();
  }

  /** Claims no more jobs, waits for running ones, releases the others, and deregisters. A second call ends the grace period. */
  stop(options: {grace?: Duration} = {}): Promise<void> {
    if (this.#stopping) this.#hurry();
    return (this.#stopping ??= this.#drain(options.grace === undefined ? this.#graceMs : milliseconds(options.grace)));
  }

  /** @internal Calls the handler of a job. */
  call(job: ActiveJob): unknown {
    const handler = this.#handlers.get(job.kind ?? '*') ?? this.#handlers.get('*');
    if (!handler) throw new Error(`no handler for kind ${JSON.stringify(job.kind)}; this worker has: ${[...this.#handlers.keys()].join(', ')}`);
    return runInTrace(traceOf(job.headers), () => handler(job, job));
  }

  #accept(replies: ClaimReply[], sentAt: number): void {
    const claim = this.#leases.open(replies[0]!.token, replies.length, sentAt);
    if (!claim) return;
    const report = (job: ActiveJob, fraction: number, message?: string) => this.#progress(job, fraction, message);
    for (const reply of replies) {
      const job = new ActiveJob(reply, claim, report);
      this.#held.add(job);
      this.#waiting.push(job);
    }
    if (this.#stopping) this.#releaseWaiting();
  }

  #startWaiting(): void {
    while (this.#running < this.#concurrency && this.#waiting.length > 0) this.#start(this.#waiting.shift()!);
  }

  #start(job: ActiveJob): void {
    this.#running++;
    this.#log.debug?.({event: 'job_started', queue: job.queue, id: job.id, kind: job.kind, attempt: job.attempt}, 'job started');
    if (job.timeoutMs !== null) this.#limit(job, job.timeoutMs);
    const returned = (result: unknown) => this.#ended(job, () => succeeded(job, result));
    const threw = (error: unknown) => this.#ended(job, () => failed(job, error));
    try {
      const result = this.call(job);
      if (result instanceof Promise) result.then(returned, threw);
      else returned(result);
    } catch (error) {
      threw(error);
    }
  }

  /** A handler that does not stop by itself after its timeout fails as well, but keeps its slot. */
  #limit(job: ActiveJob, ms: number): void {
    const expire = () => this.#decide(job, timedOut(job));
    job.timer = setTimeout(() => {
      job.stop(new StopError('timed_out', `the attempt timed out after ${ms} ms`));
      job.timer = setTimeout(expire, this.#stopWaitMs);
    }, ms);
  }

  #ended(job: ActiveJob, outcome: () => Outcome): void {
    this.#running--;
    this.#decide(job, outcome());
    this.#held.delete(job);
    this.#startWaiting();
    if (this.#held.size === 0) this.#whenEmpty();
  }

  /** Sends the outcome, unless one was sent or the lease was lost. */
  #decide(job: ActiveJob, outcome: Outcome): void {
    clearTimeout(job.timer);
    if (job.isDecided) return;
    job.isDecided = true;
    this.#dispatcher.push(outcome);
  }

  #confirmed({job, error}: Outcome, status: string): void {
    this.#leases.close(job.claim);
    this.totals[TOTALS[status] ?? 'lost']++;
    const about = () => ({queue: job.queue, id: job.id, kind: job.kind, attempt: job.attempt, max_attempts: job.maxAttempts});
    const firstLine = () => error?.split('\n', 1)[0];
    if (status === 'dead') this.#log.error?.({event: 'job_dead', ...about(), error: firstLine()}, 'a job failed for the last time');
    else if (status === 'scheduled') this.#log.warn?.({event: 'attempt_failed', ...about(), error: firstLine()}, 'an attempt failed');
    else if (status === 'lease_lost' || status === 'gone') this.#log.warn?.({event: 'lease_lost', ...about(), token: job.claim.token}, 'an outcome came too late');
    else if (this.#log.debug) this.#log.debug({event: 'job_ended', ...about(), outcome: status}, 'job ended');
  }

  /** The lease of a claim was lost: outcomes of its jobs are not sent. */
  #lost(claim: Claim, jobs: ActiveJob[]): void {
    this.#dispatcher.discard((outcome) => outcome.job.claim === claim);
    for (const job of jobs) {
      clearTimeout(job.timer);
      job.isDecided = true;
      this.totals.lost++;
      const index = this.#waiting.indexOf(job);
      if (index < 0) continue;
      this.#waiting.splice(index, 1);
      this.#held.delete(job);
    }
    this.#dispatcher.pump();
  }

  async #progress(job: ActiveJob, fraction: number, message?: string): Promise<void> {
    if (job.stopReason?.reason === 'lease_lost') throw new LeaseLostError(job.stopReason.message, {code: 'lease_lost'});
    const path = `${this.#session.path}/jobs/${segment(job.id)}/progress`;
    const options = {repeatable: true, signal: this.#session.abort.signal};
    await this.#session.client.request('POST', path, {token: job.claim.token, fraction, message}, options);
  }

  async #heartbeat(): Promise<void> {
    const running = [...this.#held].map(({id}) => ({queue: this.queue, id}));
    const reply = await this.#session.postOnce<{command: string}>(`/v1/workers/${segment(this.id)}/heartbeat`, {running}, HEARTBEAT_MS);
    if (reply.command === 'reregister') await this.#reregister();
    else if (reply.command === 'stop') void this.stop();
    const isPaused = reply.command === 'pause';
    if (isPaused === this.#isPaused) return;
    this.#isPaused = isPaused;
    this.#log.info?.({event: 'worker_paused', paused: isPaused}, isPaused ? 'paused by a command' : 'continues');
    this.#updateClaiming();
  }

  async #reregister(): Promise<void> {
    this.#dispatcher.isClaiming = false;
    this.#dispatcher.restart();
    await this.#session.register();
    this.#log.warn?.({event: 'worker_reregistered', boot: this.id}, 'the server had declared the worker dead');
    this.#updateClaiming();
  }

  #updateClaiming(): void {
    this.#dispatcher.isClaiming = !this.#isPaused && !this.#stopping;
    if (!this.#dispatcher.isClaiming) this.#dispatcher.stopWaiting();
    this.#dispatcher.pump();
  }

  /** Calls a function again and again until the worker has stopped. A failed call is not an error: the next one follows. */
  async #every(ms: number, call: () => Promise<void>): Promise<void> {
    const {signal} = this.#session.abort;
    while (!signal.aborted) {
      await call().catch((error: unknown) => {
        if (error instanceof WindlassError) this.#session.away(error);
      });
      await sleep(ms, undefined, {signal}).catch(() => {});
    }
  }

  #releaseWaiting(): void {
    for (const job of this.#waiting.splice(0)) {
      this.#held.delete(job);
      this.#decide(job, released(job));
    }
    if (this.#held.size === 0) this.#whenEmpty();
  }

  async #drain(graceMs: number): Promise<void> {
    if (!this.#isStarted) return this.#whenStopped();
    // `#stopping` is set when this function first waits.
    await Promise.resolve();
    this.#log.info?.({event: 'worker_draining', running: this.#running, grace_ms: graceMs}, 'finishing running jobs');
    this.#updateClaiming();
    this.#releaseWaiting();
    const empty = new Promise<void>((resolve) => (this.#whenEmpty = resolve));
    const isEmpty = this.#held.size === 0 ? Promise.resolve() : empty;
    const hurried = new Promise<void>((resolve) => (this.#hurry = resolve));
    await Promise.race([isEmpty, hurried, pause(graceMs, isEmpty)]);
    for (const job of this.#held) job.stop(new StopError('worker_stopping', 'the worker stops'));
    if (this.#held.size > 0) await Promise.race([isEmpty, pause(this.#stopWaitMs, isEmpty)]);
    for (const job of this.#held) this.#decide(job, released(job));
    this.#dispatcher.pump();
    const sent = this.#dispatcher.idle();
    await Promise.race([sent, pause(Math.max(graceMs, LEAVE_MS), sent)]);
    await this.#leave();
  }

  async #leave(): Promise<void> {
    this.#session.abort.abort();
    try {
      if (this.id) await this.#session.client.request('POST', `/v1/workers/${segment(this.id)}/leave`, {}, {repeatable: true, retryFor: LEAVE_MS});
    } catch (error) {
      const {code, help} = error as WindlassError;
      this.#log.warn?.({event: 'worker_not_deregistered', code, help, error: String(error)}, 'cannot deregister');
    }
    this.#log.info?.({event: 'worker_stopped', ...this.totals}, 'worker stopped');
    this.#whenStopped();
  }

  /** Ends the worker because of an error that repeating does not fix. */
  #fail(error: unknown): void {
    if (this.#error) return;
    this.#error = error;
    const {code, help} = error as WindlassError;
    this.#log.error?.({event: 'worker_failed', code, help, error: String(error)}, 'the worker failed');
    void this.stop({grace: 0});
  }

  #listen(): void {
    const stop = () => void this.stop();
    for (const name of ['SIGTERM', 'SIGINT'] as const) {
      process.on(name, stop);
      void this.#stopped.then(() => process.off(name, stop));
    }
  }
}

/** Waits that long, but does not keep the process alive after `until`. */
function pause(ms: number, until: Promise<void>): Promise<void> {
  const abort = new AbortController();
  void until.then(() => abort.abort());
  return sleep(ms, undefined, {signal: abort.signal}).catch(() => {});
}
