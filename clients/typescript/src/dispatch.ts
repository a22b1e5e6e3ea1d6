// Claims jobs for free slots and sends outcomes, in as few calls as possible.
//
// One call with outcomes is in flight at a time, and it claims for the free slots as well. What ends meanwhile goes out with the next call: no timer.
// Only when no job is left, a claim waits for new ones on another connection. One claim is in flight at a time, since the server can repeat only the latest.
import {type ActiveJob, type ClaimReply, failure, type Outcome, type OutcomeKind} from './attempt.js';
import {duration} from './codec.js';
import {AccessDeniedError, OutcomeUnknownError, ServerAwayError, WindlassError} from './errors.js';
import type {Leases} from './leases.js';
import {backoff} from './request.js';
import type {Session} from './session.js';

const CLAIM_MAX = 100;
const CLAIM_WAIT = '20s';
const BATCH_MAX = 1_000;
/** Bytes of results in one request, unless a single one is larger. */
const BATCH_BYTES = 1 << 20;
/** A claim that waits uses several numbers on the server, fewer than these. */
const SEQ_JUMP = 1_000_000;
const KINDS: readonly OutcomeKind[] = ['complete', 'fail', 'snooze', 'release'];

/** What the dispatcher needs of its worker. */
export interface Slots {
  free(): number;
  /** Takes claimed jobs. They start after the next call was sent. */
  accept(jobs: ClaimReply[], sentAt: number): void;
  start(): void;
  confirmed(outcome: Outcome, status: string): void;
  /** The server cannot get this outcome. */
  dropped(job: ActiveJob): void;
  /** An error that repeating does not fix. */
  failed(error: unknown): void;
}

interface ClaimFields {
  max: number;
  lease: string;
  worker: string;
  seq: number;
}

export class Dispatcher {
  /** Whether to claim jobs. */
  isClaiming = false;
  readonly #session: Session;
  readonly #slots: Slots;
  readonly #leases: () => Leases;
  readonly #outcomes: Record<OutcomeKind, Outcome[]> = {complete: [], fail: [], snooze: [], release: []};
  #unconfirmed = 0;
  #turn = 0;
  #seq = 0;
  #claim: {seq: number; slots: number; abort?: AbortController} | undefined;
  /** Whether the last claim was full, so that more jobs are likely. */
  #hasMore = false;
  #isSending = false;
  #isScheduled = false;
  #isBackingOff = false;
  #failures = 0;
  #whenIdle = () => {};

  constructor(session: Session, slots: Slots, leases: () => Leases) {
    this.#session = session;
    this.#slots = slots;
    this.#leases = leases;
  }

  /** The highest number of a claim that is not in flight. */
  get settled(): number {
    return this.#claim ? this.#claim.seq - 1 : this.#seq;
  }

  /** Slots that a claim in flight may fill. */
  get reserved(): number {
    return this.#claim?.slots ?? 0;
  }

  /** Numbers start again with a new registration. */
  restart(): void {
    this.stopWaiting();
    this.#seq = 0;
  }

  /** Ends the claim that waits, if there is one. */
  stopWaiting(): void {
    this.#claim?.abort?.abort();
  }

  push(outcome: Outcome): void {
    this.#unconfirmed++;
    this.#outcomes[outcome.kind].push(outcome);
    if (this.#isScheduled) return;
    // After the current events, so that handlers that end together share a call.
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.pump();
    });
  }

  /** Removes outcomes that must not be sent. */
  discard(isDiscarded: (outcome: Outcome) => boolean): void {
    for (const kind of KINDS) {
      const kept = this.#outcomes[kind].filter((outcome) => !isDiscarded(outcome));
      this.#ended(this.#outcomes[kind].length - kept.length);
      this.#outcomes[kind] = kept;
    }
  }

  /** Resolves when the server has all outcomes. */
  async idle(): Promise<void> {
    if (this.#unconfirmed > 0) await new Promise<void>((resolve) => (this.#whenIdle = resolve));
  }

  #ended(count: number): void {
    this.#unconfirmed -= count;
    if (this.#unconfirmed === 0) this.#whenIdle();
  }

  /** Sends what can be sent now. */
  pump(): void {
    if (this.#session.abort.signal.aborted) return;
    if (!this.#isSending) {
      const kind = this.#nextKind();
      if (kind) void this.#sendOutcomes(kind, this.#takeBatch(kind), kind === 'complete' ? this.#nextClaim() : undefined);
      else if (this.#hasMore) void this.#sendClaim(this.#nextClaim());
    }
    if (!this.#hasMore && !this.#isBackingOff) void this.#waitForJobs(this.#nextClaim());
  }

  #nextClaim(): ClaimFields | undefined {
    if (this.#claim || !this.isClaiming) return undefined;
    const max = Math.min(CLAIM_MAX, this.#slots.free());
    if (max <= 0) return undefined;
    this.#claim = {seq: ++this.#seq, slots: max};
    return {max, lease: duration(this.#session.leaseMs), worker: this.#session.id, seq: this.#seq};
  }

  /** Kinds take turns. */
  #nextKind(): OutcomeKind | undefined {
    for (const _ of KINDS) {
      const kind = KINDS[this.#turn++ % KINDS.length]!;
      if (this.#outcomes[kind].length > 0) return kind;
    }
    return undefined;
  }

  #takeBatch(kind: OutcomeKind): Outcome[] {
    const outcomes = this.#outcomes[kind];
    let count = 0;
    for (let bytes = 0; count < Math.min(outcomes.length, BATCH_MAX); count++) {
      bytes += outcomes[count]!.fields.length;
      if (bytes > BATCH_BYTES && count > 0) break;
    }
    return outcomes.splice(0, count);
  }

  async #sendOutcomes(kind: OutcomeKind, batch: Outcome[], claim: ClaimFields | undefined): Promise<void> {
    this.#isSending = true;
    const sentAt = performance.now();
    try {
      const reply = await this.#post(kind, batch, claim);
      batch.forEach((outcome, index) => this.#slots.confirmed(outcome, reply.jobs[index]?.outcome ?? 'lease_lost'));
      this.#ended(batch.length);
      if (claim) this.#claimed(reply.claimed ?? [], claim, sentAt);
    } catch (error) {
      if (claim) this.#lostClaim();
      await this.#sendOneByOne(kind, batch, error);
    }
    this.#isSending = false;
    this.pump();
    this.#slots.start();
  }

  #post(kind: OutcomeKind, batch: Outcome[], claim: ClaimFields | undefined): Promise<{jobs: {outcome: string}[]; claimed?: ClaimReply[]}> {
    // By hand: an object per job would be built only to be converted.
    const jobs = batch.map(({job, fields}) => `{"id":${JSON.stringify(job.id)},"token":"${job.claim.token}"${fields}}`).join();
    return this.#session.post(`${this.#session.path}/${kind}`, `{"jobs":[${jobs}]${claim ? `,"claim":${JSON.stringify(claim)}` : ''}}`);
  }

  /** The server refused a batch. What it refuses alone fails its job for good: the work was done, and must not be repeated. */
  async #sendOneByOne(kind: OutcomeKind, batch: Outcome[], error: unknown): Promise<void> {
    if (this.#session.abort.signal.aborted) return;
    if (error instanceof AccessDeniedError || !(error instanceof WindlassError)) return this.#slots.failed(error);
    const {code, help, message} = error;
    this.#session.log.warn?.({event: 'outcomes_rejected', queue: this.#session.queue, jobs: batch.length, code, help, error: message}, 'the server refused outcomes');
    for (const outcome of batch) {
      try {
        const alone = batch.length > 1 ? outcome : failure(outcome.job, `the server refused to ${kind} this job: ${message}`, true);
        const reply = await this.#post(alone.kind, [alone], undefined);
        this.#slots.confirmed(alone, reply.jobs[0]?.outcome ?? 'lease_lost');
      } catch (refusal) {
        if (batch.length > 1) await this.#sendOneByOne(kind, [outcome], refusal);
        else this.#slots.dropped(outcome.job);
        if (batch.length > 1) continue;
      }
      this.#ended(1);
    }
  }

  async #sendClaim(claim: ClaimFields | undefined): Promise<void> {
    if (!claim) return;
    this.#isSending = true;
    const sentAt = performance.now();
    try {
      this.#claimed(await this.#session.post<ClaimReply[]>(`${this.#session.path}/claim`, claim), claim, sentAt);
    } catch (error) {
      this.#lostClaim();
      if (!this.#session.abort.signal.aborted) this.#slots.failed(error);
    }
    this.#isSending = false;
    this.pump();
    this.#slots.start();
  }

  async #waitForJobs(claim: ClaimFields | undefined): Promise<void> {
    if (!claim) return;
    const sentAt = performance.now();
    const abort = new AbortController();
    this.#claim!.abort = abort;
    try {
      const options = {wait: CLAIM_WAIT, retryFor: 0, signal: AbortSignal.any([abort.signal, this.#session.abort.signal])};
      const jobs = await this.#session.client.request<ClaimReply[]>('POST', `${this.#session.path}/claim`, {...claim, wait: CLAIM_WAIT}, options);
      this.#session.back();
      this.#failures = 0;
      this.#seq = Math.max(this.#seq, jobs[0]?.seq ?? 0);
      this.#claimed(jobs, claim, sentAt);
    } catch (error) {
      if (error instanceof ServerAwayError) this.#claim = undefined;
      else this.#lostClaim();
      if (this.#session.abort.signal.aborted) return;
      if (!abort.signal.aborted) this.#claimFailed(error);
    }
    this.pump();
    this.#slots.start();
  }

  #claimFailed(error: unknown): void {
    if (!(error instanceof ServerAwayError || error instanceof OutcomeUnknownError)) return this.#slots.failed(error);
    this.#session.away(error);
    this.#isBackingOff = true;
    setTimeout(() => {
      this.#isBackingOff = false;
      this.pump();
    }, backoff(this.#failures++));
  }

  #claimed(jobs: ClaimReply[], claim: ClaimFields, sentAt: number): void {
    this.#claim = undefined;
    this.#hasMore = jobs.length >= claim.max;
    if (jobs.length > 0) this.#slots.accept(jobs, sentAt);
  }

  /** The numbers that a lost claim may have used are not used again, and its jobs return with a renewal at once. */
  #lostClaim(): void {
    this.#claim = undefined;
    this.#hasMore = false;
    this.#seq += SEQ_JUMP;
    this.#leases().expectStray();
    // If it fails, the timer renews again.
    if (!this.#session.abort.signal.aborted) this.#leases().renew().catch(() => {});
  }
}
