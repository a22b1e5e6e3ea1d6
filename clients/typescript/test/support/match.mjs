// Matches values against the patterns of the protocol cases, and reads values at a path.
import assert from 'node:assert/strict';

/** Throws if a value does not match. */
export function match(actual, expected, where = 'reply') {
  if (expected === '$any') return assert.ok(actual != null, `${where} is missing`);
  if (expected === null) return assert.ok(actual == null, `${where}: expected null, got ${JSON.stringify(actual)}`);
  if (Array.isArray(expected)) {
    assert.ok(Array.isArray(actual), `${where}: expected a list, got ${JSON.stringify(actual)}`);
    assert.equal(actual.length, expected.length, `${where}: ${JSON.stringify(actual)} has not ${expected.length} items`);
    return expected.forEach((item, index) => match(actual[index], item, `${where}.${index}`));
  }
  if (typeof expected !== 'object') return assert.deepEqual(actual, expected, `${where}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`);
  if ('$contains' in expected) return assert.ok(String(actual).includes(expected.$contains), `${where}: ${JSON.stringify(actual)} lacks ${expected.$contains}`);
  if ('$length' in expected) return assert.equal(actual?.length, expected.$length, `${where}: wrong length`);
  assert.ok(actual !== null && typeof actual === 'object', `${where}: expected an object, got ${JSON.stringify(actual)}`);
  for (const [name, field] of Object.entries(expected)) match(actual[name], field, `${where}.${name}`);
}

/** The value at a path such as `0.token`. */
export const at = (value, path) => path.split('.').reduce((found, part) => found?.[part], value);

/** Replaces `$NAME` in every string of a value. */
export function fill(value, names) {
  if (typeof value === 'string') {
    return value.replace(/\$([a-z_]\w*)/g, (whole, name) => (name in names ? names[name] : whole));
  }
  if (Array.isArray(value)) return value.map((item) => fill(item, names));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, fill(field, names)]));
}

/** Replaces `{"$base64": …}` by bytes. */
export function bytes(value) {
  if (Array.isArray(value)) return value.map(bytes);
  if (value === null || typeof value !== 'object') return value;
  if (typeof value.$base64 === 'string') return new Uint8Array(Buffer.from(value.$base64, 'base64'));
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, bytes(field)]));
}
