// The leases of a worker: which claims are open, renewing them, and giving them up before the server does.
import type {ActiveJob, Claim} from './attempt.js';
import {duration} from './codec.js';
import {StopError} from './errors.js';
import type {Session} from './session.js';

/** How long a claim whose reply was lost may still be executed on the server. */
const STRAY_MS = 5_000;

interface RenewReply {
  lease_until: string | null;
  lost: string[];
  unreached: string[] | null;
  cancel: string[];
}

export class Leases {
  readonly #session: Session;
  readonly #held: ReadonlySet<ActiveJob>;
  readonly #claims = new Map<string, Claim>();
  /** The highest number whose reply arrived or is no longer awaited. */
  readonly #settled: () => number;
  readonly #onLost: (claim: Claim, jobs: ActiveJob[]) => void;
  readonly #marginMs: number;
  #strayUntil = 0;

  constructor(session: Session, held: ReadonlySet<ActiveJob>, settled: () => number, onLost: (claim: Claim, jobs: ActiveJob[]) => void) {
    this.#session = session;
    this.#held = held;
    this.#settled = settled;
    this.#onLost = onLost;
    this.#marginMs = Math.min(2_000, session.leaseMs / 6);
  }

  /** How often to renew. */
  get renewMs(): number {
    return Math.min(2_000, this.#session.leaseMs / 3);
  }

  /** How often to check for leases that could not be renewed. */
  get checkMs(): number {
    return Math.min(500, this.#marginMs / 2);
  }

  /** Adds a claim that was sent then. Returns undefined if its lease may have ended already. */
  open(token: string, jobs: number, sentAt: number): Claim | undefined {
    const until = sentAt + this.#session.leaseMs - this.#marginMs;
    if (performance.now() >= until) {
      this.expectStray();
      return undefined;
    }
    const claim = {token, worker: this.#session.id, until, open: jobs};
    this.#claims.set(token, claim);
    return claim;
  }

  /** The server has the outcome of a job, or never gets it. */
  close(claim: Claim): void {
    if (--claim.open === 0) this.#claims.delete(claim.token);
  }

  /** The server may have executed a claim whose reply is not awaited. Renewing returns its jobs to the queue. */
  expectStray(): void {
    this.#strayUntil = performance.now() + STRAY_MS;
  }

  /** Renews all claims with one call, plus one for each earlier registration that still has some. */
  async renew(): Promise<void> {
    const {id} = this.#session;
    const workers = new Set([...this.#claims.values()].map((claim) => claim.worker));
    if (performance.now() < this.#strayUntil) workers.add(id);
    for (const worker of workers) {
      const claims = [...this.#claims.values()].filter((claim) => claim.worker === worker);
      await this.#renewWorker(worker, claims, worker === id ? this.#settled() : 0);
    }
  }

  async #renewWorker(worker: string, claims: Claim[], settled: number): Promise<void> {
    const sentAt = performance.now();
    const {leaseMs, path} = this.#session;
    const tokens = claims.map((claim) => claim.token);
    const body = {worker, tokens, settled, lease: duration(leaseMs)};
    const reply = await this.#session.postOnce<RenewReply>(`${path}/renew_leases`, body, Math.max(500, leaseMs / 3));
    const lost = new Set(reply.lost);
    const unreached = new Set(reply.unreached);
    for (const claim of claims) {
      if (lost.has(claim.token)) this.#lose(claim);
      else if (!unreached.has(claim.token)) claim.until = sentAt + leaseMs - this.#marginMs;
    }
    for (const job of this.#held) {
      if (reply.cancel.includes(job.id) && job.claim.worker === worker) job.stop(new StopError('cancelled', 'the job was cancelled'));
    }
  }

  /** Gives up claims that could not be renewed. */
  giveUp(): void {
    const now = performance.now();
    for (const claim of this.#claims.values()) {
      if (now >= claim.until) this.#lose(claim);
    }
  }

  #lose(claim: Claim): void {
    this.#claims.delete(claim.token);
    const jobs = [...this.#held].filter((job) => job.claim === claim);
    for (const job of jobs) {
      this.#session.log.warn?.({event: 'lease_lost', queue: job.queue, id: job.id, attempt: job.attempt, token: claim.token}, 'the lease of a job was lost');
      job.stop(new StopError('lease_lost', 'the lease was lost: another worker may run the job'));
    }
    this.#onLost(claim, jobs);
  }
}
