// Calls the methods of the client by the names of the protocol, and gives their results the names of the HTTP API.
const camel = (name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const OPAQUE = new Set(['headers', 'payload', 'settings']);

function options(fields) {
  const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value) && !(value instanceof Uint8Array);
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [camel(key), isObject(value) && !OPAQUE.has(key) ? options(value) : value]));
}

/** Payload or result as the server stores it: text, or base64. */
function content(name, value) {
  if (value === undefined) return {};
  if (value instanceof Uint8Array) return {[`${name}_base64`]: Buffer.from(value).toString('base64')};
  return {[name]: typeof value === 'string' ? value : JSON.stringify(value)};
}

function toWire(value) {
  if (Array.isArray(value)) return value.map(toWire);
  if (value === null || typeof value !== 'object') return value;
  const isJob = 'maxAttempts' in value;
  const fields = Object.entries(value).flatMap(([key, field]) => {
    if (isJob && (key === 'payload' || key === 'result')) return Object.entries(content(key, field));
    return [[snake(key), OPAQUE.has(key) ? field : toWire(field)]];
  });
  return Object.fromEntries(fields);
}

async function collect(items) {
  const all = [];
  for await (const item of items) all.push(item);
  return all;
}

const CALLS = {
  enqueue: (client, {queue, payload, ...rest}) => client.enqueue(queue, payload, options(rest)),
  enqueue_many: (client, {queue, jobs}) => client.enqueueMany(queue, jobs.map(options)),
  wait: (client, {queue, id, ...rest}) => client.wait(queue, id, rest),
  list: async (client, {queue, ...filter}) => (await client.listPages(queue, options(filter)).next()).value,
  set: async (client, {queue, settings}) => ({settings: await client.set(queue, settings)}),
  settings: async (client, {queue}) => ({settings: await client.settings(queue)}),
  groups: async (client, {queue}) => ({groups: await collect(client.groups(queue))}),
  set_group: (client, {queue, group, ...limits}) => client.setGroup(queue, group, options(limits)),
  schedules: async (client, {queue}) => ({schedules: await collect(client.schedules(queue))}),
  put_schedule: (client, {queue, name, definition}) => client.putSchedule(queue, name, options(definition)),
};

/** Calls a method; methods without special arguments take a queue and a name. */
export async function call(client, op, args) {
  const method = CALLS[op] ?? ((client, {queue, id, group, name}) => client[camel(op)](...[queue, id ?? group ?? name].filter((word) => word !== undefined)));
  return toWire(await method(client, args));
}
