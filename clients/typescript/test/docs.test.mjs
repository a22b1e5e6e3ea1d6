// The code of `docs/typescript.md` and of the README runs as it is written, from the packed package too.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {after, before, test} from 'node:test';
import {blocks, compile, emptyFolder, GUIDE, link, PACKAGE, README, runUntil} from './support/docs.mjs';
import {Server} from './support/server.mjs';

let server;
before(async () => (server = await Server.start()));
after(() => server.stop());

test('the first lines of the README run', async (t) => {
  const folder = emptyFolder(t);
  link(folder, ['windlass']);
  await runUntil(folder, blocks(README, 'js', server.url)[0], 'to ann@example.org');
});

test('the packed package runs the first lines of the guide in an empty folder, and has types', async (t) => {
  const folder = emptyFolder(t);
  const npm = (...words) => execFileSync('npm', words, {cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore']});
  const [{filename, files}] = JSON.parse(npm('pack', '--json', '--ignore-scripts', '--pack-destination', folder, PACKAGE));
  assert.deepEqual(files.map(({path}) => path).filter((path) => !/^(package\.json|README\.md|dist\/.*\.(js|d\.ts))$/.test(path)), []);
  writeFileSync(join(folder, 'package.json'), '{"private": true}');
  npm('install', '--offline', '--no-audit', '--no-fund', join(folder, filename));
  const first = blocks(GUIDE, 'js', server.url)[0];
  assert.ok(first.split('\n').filter((line) => line.trim()).length <= 10);
  await runUntil(folder, first, 'sending to ann@example.org');
  link(folder, ['@types/node', 'undici-types']);
  writeFileSync(join(folder, 'types.mts'), blocks(GUIDE, 'ts', server.url)[0]);
  compile(folder, 'types.mts');
});

test('the other examples of the guide compile and run', async (t) => {
  const folder = emptyFolder(t);
  link(folder, ['windlass', '@types/node', 'undici-types']);
  const examples = blocks(GUIDE, 'ts', server.url);
  assert.equal(examples.length, 4);
  // The recipe needs no more of Fastify than this.
  const fastify = `declare module 'fastify' {
  interface FastifyInstance {
    post(path: string, handler: (request: {body: unknown}) => Promise<unknown>): void;
    addHook(name: 'onClose', hook: () => Promise<void>): void;
  }
}`;
  writeFileSync(join(folder, 'fastify.d.ts'), fastify);
  const ending = `
await assert.rejects(inline(worker, () => client.enqueue(resize, {paths: ['b.gif']})), PermanentError);
await worker.stop();
client.close();
`;
  writeFileSync(join(folder, 'guide.mts'), `/// <reference path="./fastify.d.ts" />\n${examples.join('')}${ending}`);
  compile(folder, 'guide.mts');
  const printed = execFileSync(process.execPath, ['guide.mjs'], {cwd: folder, encoding: 'utf8', timeout: 30_000, stdio: ['ignore', 'pipe', 'pipe']});
  assert.equal(printed, 'succeeded 1\n');
});
