// Sends a request, and again with backoff while the server is away or busy and repeating it is safe.
import {setTimeout as sleep} from 'node:timers/promises';
import {errorOf, OutcomeUnknownError, ServerAwayError, WindlassError} from './errors.js';
import {Connections, type Incoming, NoReply, type Outgoing} from './http.js';

const DELAY_FIRST_MS = 50;
const DELAY_MAX_MS = 2_000;

export interface Call extends Outgoing {
  /** Whether a repeated request has the effect of one. */
  isRepeatable: boolean;
  /** How long to go on repeating. */
  retryForMs: number;
  /** Called before each repeat. */
  onRetry?: ((error: WindlassError) => void) | undefined;
}

/** Returns the parsed body of a successful reply. */
export async function request(connections: Connections, call: Call): Promise<unknown> {
  const began = performance.now();
  for (let repeated = 0; ; repeated++) {
    const outcome = await exchange(connections, call);
    if ('body' in outcome) return outcome.body === '' ? undefined : JSON.parse(outcome.body);
    const {error} = outcome;
    const delay = Math.max(outcome.retryAfterMs, backoff(repeated));
    if (!outcome.mayRepeat || performance.now() - began + delay > call.retryForMs) throw error;
    call.onRetry?.(error);
    await sleep(delay, undefined, call.signal && {signal: call.signal}).catch((abort: unknown) => {
      throw call.signal?.aborted ? call.signal.reason : abort;
    });
  }
}

/** The delay before a repeat, with jitter. */
export function backoff(repeated: number): number {
  const delay = Math.min(DELAY_MAX_MS, DELAY_FIRST_MS * 2 ** repeated);
  return delay / 2 + (Math.random() * delay) / 2;
}

interface Failure {
  error: WindlassError;
  mayRepeat: boolean;
  retryAfterMs: number;
}

async function exchange(connections: Connections, call: Call): Promise<Incoming | Failure> {
  try {
    const reply = await connections.send(call);
    return reply.status < 300 ? reply : failure(call, reply);
  } catch (cause) {
    if (!(cause instanceof NoReply)) throw cause;
    return {error: noReply(call, cause), mayRepeat: !cause.wasSent || call.isRepeatable, retryAfterMs: 0};
  }
}

function failure(call: Call, reply: Incoming): Failure {
  const error = errorOf(reply.status, reply.body);
  const {status, retryAfterMs} = reply;
  const isBusy = error instanceof ServerAwayError;
  const isUnknown = error instanceof OutcomeUnknownError || status === 502 || status === 504;
  return {error, mayRepeat: isBusy || (isUnknown && call.isRepeatable), retryAfterMs};
}

function noReply(call: Call, cause: NoReply): WindlassError {
  const what = `${call.method} ${call.path}`;
  if (cause.wasSent && call.method !== 'GET') {
    const help = call.isRepeatable ? 'repeat it: it is executed once' : 'read the job to see whether it was executed';
    return new OutcomeUnknownError(`${what}: the request was sent, but no reply arrived: ${cause.message}`, {code: 'outcome_unknown', help, cause});
  }
  const help = 'check the URL, and that `windlass serve` is running there';
  return new ServerAwayError(`${what}: cannot reach the server: ${cause.message}`, {code: 'server_away', help, cause});
}
