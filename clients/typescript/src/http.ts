// One HTTP exchange over a keep-alive connection, and whether a failed one may have reached the server.
import * as http from 'node:http';
import * as https from 'node:https';

/** The server closes connections that are idle for 60 s: a shorter time here avoids writing to one of them. */
const IDLE_MS = 50_000;

export interface Outgoing {
  method: string;
  path: string;
  headers?: Record<string, string> | undefined;
  /** JSON. */
  body?: string | undefined;
  signal?: AbortSignal | undefined;
  timeoutMs: number;
}

export interface Incoming {
  status: number;
  body: string;
  retryAfterMs: number;
}

/** No reply: `wasSent` says whether the server may have got the request. */
export class NoReply extends Error {
  constructor(
    readonly wasSent: boolean,
    cause: Error,
  ) {
    super(cause.message || String((cause as NodeJS.ErrnoException).code), {cause});
  }
}

/** The connections to one server. */
export class Connections {
  readonly #agent: http.Agent;
  readonly #request: typeof http.request;
  readonly #options: http.RequestOptions;
  readonly #prefix: string;
  readonly #headers: Record<string, string>;

  constructor(url: URL, headers: Record<string, string>) {
    const isTls = url.protocol === 'https:';
    const options = {keepAlive: true, timeout: IDLE_MS, scheduling: 'lifo'} as const;
    this.#agent = isTls ? new https.Agent(options) : new http.Agent(options);
    this.#request = isTls ? https.request : http.request;
    const host = url.hostname.replace(/^\[|\]$/g, '');
    this.#options = {protocol: url.protocol, host, port: url.port || (isTls ? 443 : 80), agent: this.#agent};
    this.#prefix = url.pathname.replace(/\/$/, '');
    this.#headers = headers;
  }

  send({method, path, headers, body, signal, timeoutMs}: Outgoing): Promise<Incoming> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const all: Record<string, string | number> = {...this.#headers, ...headers};
      if (body !== undefined) {
        all['content-type'] = 'application/json';
        all['content-length'] = Buffer.byteLength(body);
      }
      const request = this.#request({...this.#options, method, path: this.#prefix + path, headers: all});
      let wasSent = false;
      const timer = setTimeout(() => request.destroy(new Error(`no reply within ${timeoutMs} ms`)), timeoutMs);
      const abort = () => request.destroy(signal?.reason);
      signal?.addEventListener('abort', abort, {once: true});
      const end = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', abort);
      };
      const fail = (error: Error) => {
        end();
        reject(signal?.aborted ? signal.reason : new NoReply(wasSent, error));
      };
      request.on('error', fail);
      request.on('socket', (socket) => {
        if (socket.connecting) socket.once('connect', () => (wasSent = true));
        else wasSent = true;
      });
      request.on('response', (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', fail);
        response.on('end', () => {
          end();
          const seconds = Number(response.headers['retry-after'] ?? 0);
          const whole = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
          resolve({status: response.statusCode ?? 0, body: whole.toString('utf8'), retryAfterMs: seconds > 0 ? seconds * 1e3 : 0});
        });
      });
      request.end(body);
    });
  }

  /** Closes idle connections, and those in use when their request ends. */
  close(): void {
    this.#agent.destroy();
  }
}
