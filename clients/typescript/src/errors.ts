// The errors of the client: one class per reason, each with the code and the help of the server.

/** What an error carries besides its message. */
export interface ErrorDetails {
  /** The stable error code; see docs/errors.md. */
  code: string;
  /** What to do about it. */
  help?: string | undefined;
  /** The HTTP status; missing if there was no reply. */
  status?: number | undefined;
  /** The id of the request in the log of the server. */
  requestId?: string | undefined;
  cause?: unknown;
}

/** The base class of all errors of this package that a server, or its absence, causes. */
export class WindlassError extends Error {
  readonly code: string;
  readonly help: string | undefined;
  readonly status: number | undefined;
  readonly requestId: string | undefined;

  constructor(message: string, details: ErrorDetails) {
    super(message, details.cause === undefined ? undefined : {cause: details.cause});
    this.name = new.target.name;
    this.code = details.code;
    this.help = details.help;
    this.status = details.status;
    this.requestId = details.requestId;
  }
}

/** The token is missing or wrong, or does not allow the request. */
export class AccessDeniedError extends WindlassError {}
/** The server refuses the request or its payload. Repeating it fails again. */
export class InvalidError extends WindlassError {}
/** The queue, job, group, schedule or worker does not exist. */
export class NotFoundError extends WindlassError {}
/** The state of the job, or another job, does not allow the request. */
export class ConflictError extends WindlassError {}
/** The token of a claim is no longer valid: another worker may run the job. Nothing changed. */
export class LeaseLostError extends WindlassError {}
/** The job has not ended in the time that `wait` was given. It continues. */
export class WaitTimeoutError extends WindlassError {}
/** The server cannot be reached or is busy, still so after the retries. Nothing was done. */
export class ServerAwayError extends WindlassError {}
/** The request was sent, no reply arrived, and repeating it is not safe or did not help. */
export class OutcomeUnknownError extends WindlassError {}
/** Any other error of the server, or a reply that is not from Windlass. */
export class ServerError extends WindlassError {}

const CLASSES: Record<string, typeof WindlassError> = {
  unauthorized: AccessDeniedError,
  forbidden: AccessDeniedError,
  wrong_host: AccessDeniedError,
  invalid: InvalidError,
  too_large: InvalidError,
  url_too_long: InvalidError,
  wrong_media_type: InvalidError,
  method_not_allowed: InvalidError,
  not_found: NotFoundError,
  gone: NotFoundError,
  conflict: ConflictError,
  wrong_state: ConflictError,
  lease_lost: LeaseLostError,
  timed_out: WaitTimeoutError,
  store_busy: ServerAwayError,
  store_full: ServerAwayError,
  store_unreachable: ServerAwayError,
  overloaded: ServerAwayError,
  not_ready: ServerAwayError,
  too_many_requests: ServerAwayError,
  too_slow: ServerAwayError,
  outcome_unknown: OutcomeUnknownError,
};

/** Creates the error of a reply with this status and body. */
export function errorOf(status: number, body: string): WindlassError {
  let problem: {code?: unknown; detail?: unknown; help?: unknown; request_id?: unknown} = {};
  try {
    problem = JSON.parse(body) ?? {};
  } catch {
    // Not a problem document: the body goes into the message.
  }
  if (typeof problem.code !== 'string') {
    const message = `unexpected reply with status ${status}: ${body.slice(0, 200)}`;
    const help = 'check that the URL is that of `windlass serve`, and the log of a proxy in front of it';
    return new ServerError(message, {code: 'internal', help, status});
  }
  const known = CLASSES[problem.code] ?? ServerError;
  return new known(String(problem.detail), {
    code: problem.code,
    help: text(problem.help),
    status,
    requestId: text(problem.request_id),
  });
}

const text = (value: unknown) => (typeof value === 'string' ? value : undefined);

/** Thrown by a handler: the attempt fails and the job is not retried. */
export class PermanentError extends Error {
  override name = 'PermanentError';
}

/** Thrown by a handler: the job runs again later, and this attempt is not counted. */
export class Snooze extends Error {
  override name = 'Snooze';
  /** What rests: the job, its group or its queue. */
  readonly scope: 'job' | 'group' | 'queue';
  readonly delay: string | number;

  /** `delay` is a duration such as `"30s"`, or a number of milliseconds. */
  constructor(delay: string | number, options: {scope?: 'job' | 'group' | 'queue'} = {}) {
    super(`snooze for ${delay}`);
    this.delay = delay;
    this.scope = options.scope ?? 'job';
  }
}

/** Why the signal of a job was aborted. */
export class StopError extends Error {
  override name = 'StopError';

  constructor(
    readonly reason: 'cancelled' | 'timed_out' | 'lease_lost' | 'worker_stopping',
    message: string,
  ) {
    super(message);
  }
}
