// Converts payloads, results, durations and field names between JavaScript and the HTTP API.

/** A duration: a text such as `"1h30m"`, or a number of milliseconds. */
export type Duration = string | number;

/** Any value that JSON can represent, or bytes. */
export type Content = unknown;

/** Durations go out as text. */
export const duration = (value: Duration) => (typeof value === 'number' ? `${Math.round(value)}ms` : value);

const UNITS: Record<string, number> = {ms: 1, s: 1e3, m: 6e4, h: 36e5, d: 864e5};

/** Returns the milliseconds of a duration. */
export function milliseconds(value: Duration): number {
  if (typeof value === 'number') return value;
  const parts = [...value.trim().matchAll(/(\d+)(ms|s|m|h|d)/gy)];
  const isWhole = parts.length > 0 && parts.map(([part]) => part).join('') === value.trim();
  if (!isWhole) throw new TypeError(`invalid duration ${JSON.stringify(value)}; use a number of milliseconds, or text such as 30s or 1h30m`);
  return parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * UNITS[unit as string]!, 0);
}

/** The field `name` (JSON or text) or `name_base64` (bytes) of a request. */
export function encode(name: 'payload' | 'result', value: Content): Record<string, unknown> {
  if (value === undefined) return {};
  if (value instanceof Uint8Array) return {[`${name}_base64`]: Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64')};
  return {[name]: value};
}

/** A payload: a value if its content type is JSON, otherwise text, or bytes if it is not UTF-8. */
export function decodePayload(text: string | null | undefined, base64: string | undefined, headers: Record<string, string> | undefined): unknown {
  if (base64 !== undefined) return new Uint8Array(Buffer.from(base64, 'base64'));
  if (text != null && headers?.['content-type'] === 'application/json') return JSON.parse(text);
  return text ?? undefined;
}

/** A result has no content type: JSON if it can be parsed, otherwise text, or bytes if it is not UTF-8. */
export function decodeResult(text: string | null | undefined, base64: string | undefined): unknown {
  if (base64 !== undefined) return new Uint8Array(Buffer.from(base64, 'base64'));
  if (text == null) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Names in a path are encoded completely: dots too, since `..` is resolved before a request is sent. */
export const segment = (name: string) => encodeURIComponent(name).replaceAll('.', '%2E');

const camel = (name: string) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Fields whose keys belong to the user. */
const OPAQUE = new Set(['headers', 'settings', 'payload', 'result']);
/** Fields in which a number is a number of milliseconds. */
const DURATIONS = new Set(['delay', 'uniqueFor', 'postponeMax', 'timeout', 'expires', 'first', 'max', 'olderThan', 'newerThan', 'every', 'jitter', 'catchUp']);

/** A reply of the server with the names of JavaScript. */
export function fromWire<T>(value: unknown): T {
  if (Array.isArray(value)) return value.map((item) => fromWire(item)) as T;
  if (value === null || typeof value !== 'object') return value as T;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [camel(key), OPAQUE.has(key) ? field : fromWire(field)])) as T;
}

/** Fields for the server, without those that are not set. `payload` becomes the field that fits its type. */
export function toWire(fields: object): Record<string, unknown> {
  const wire: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    if (key === 'payload') Object.assign(wire, encode('payload', value));
    else wire[snake(key)] = toField(key, value);
  }
  return wire;
}

function toField(key: string, value: unknown): unknown {
  if (value instanceof Date) return value.toISOString();
  if (typeof value === 'number' && DURATIONS.has(key)) return duration(value);
  if (Array.isArray(value)) return value.map((item) => toField(key, item));
  return value !== null && typeof value === 'object' && !OPAQUE.has(key) ? toWire(value) : value;
}
