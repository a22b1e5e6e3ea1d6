// Structured logs: an event with fields, for any logger that takes an object and a message.

/** The methods that a worker calls; pino, Fastify's logger and `console` have them. A missing one is not called. */
export interface Logger {
  debug?(fields: LogFields, message: string): void;
  info?(fields: LogFields, message: string): void;
  warn?(fields: LogFields, message: string): void;
  error?(fields: LogFields, message: string): void;
}

/** The names of events and fields are those of docs/worker.md. */
export interface LogFields {
  event: string;
  [field: string]: unknown;
}

const write = (level: string) => (fields: LogFields, message: string) => {
  process.stderr.write(`${JSON.stringify({time: new Date().toISOString(), level, ...fields, message})}\n`);
};

/** One JSON object per line on stderr, from level info on, as `windlass --log json` prints it. */
export const jsonLogger: Logger = {info: write('info'), warn: write('warn'), error: write('error')};
