// A worker's relation to the server: its registration, its calls that go on until they are answered, and whether the server is away.
import {randomUUID} from 'node:crypto';
import {hostname} from 'node:os';
import type {Client} from './client.js';
import {segment} from './codec.js';
import type {WindlassError} from './errors.js';
import type {Logger} from './log.js';

export class Session {
  /** The worker id, new for every registration. */
  id = '';
  /** Ends all calls. */
  readonly abort = new AbortController();
  readonly path: string;
  #awaySince: number | undefined;

  constructor(
    readonly client: Client,
    readonly queue: string,
    readonly name: string,
    readonly leaseMs: number,
    readonly log: Logger,
  ) {
    this.path = `/v1/queues/${segment(queue)}`;
  }

  async register(): Promise<void> {
    // Chosen here, so that a repeated request registers one worker.
    const worker = randomUUID();
    const about = {worker, name: this.name, host: hostname(), pid: process.pid, version: 'typescript', queues: [this.queue]};
    this.id = (await this.post<{worker: string}>('/v1/workers', about)).worker;
  }

  /** Posts until the server has replied. */
  async post<Reply>(path: string, body: object | string): Promise<Reply> {
    const onRetry = (error: WindlassError) => this.away(error);
    const options = {repeatable: true, retryFor: Infinity, signal: this.abort.signal, onRetry};
    const reply = await this.client.request<Reply>('POST', path, body, options);
    this.back();
    return reply;
  }

  /** Posts once, with little time: for calls that a timer repeats. */
  async postOnce<Reply>(path: string, body: object, timeoutMs: number): Promise<Reply> {
    const signal = AbortSignal.timeout(timeoutMs);
    return this.client.request<Reply>('POST', path, body, {repeatable: true, retryFor: 0, signal});
  }

  /** Logs once per outage. */
  away(error: WindlassError): void {
    if (this.#awaySince !== undefined) return;
    this.#awaySince = performance.now();
    const {code, help, message} = error;
    this.log.warn?.({event: 'store_lost', store: this.client.url, code, help, error: message}, 'the server is away; retrying');
  }

  back(): void {
    if (this.#awaySince === undefined) return;
    const away_ms = Math.round(performance.now() - this.#awaySince);
    this.#awaySince = undefined;
    this.log.info?.({event: 'store_back', store: this.client.url, away_ms}, 'the server is back');
  }
}
