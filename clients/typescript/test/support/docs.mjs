// The code blocks of the guide and the README, and running them.
import assert from 'node:assert/strict';
import {execFileSync, spawn} from 'node:child_process';
import {once} from 'node:events';
import {existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {createInterface} from 'node:readline';
import {fileURLToPath} from 'node:url';

export const PACKAGE = fileURLToPath(new URL('../..', import.meta.url));
export const GUIDE = fileURLToPath(new URL('../../../../docs/typescript.md', import.meta.url));
export const README = join(PACKAGE, 'README.md');

/** The blocks of a language in a page, for another server. */
export function blocks(page, language, url) {
  const found = readFileSync(page, 'utf8').matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'gms'));
  return [...found].map(([, code]) => code.replaceAll('http://127.0.0.1:7700', url));
}

/** An empty folder, removed after the test. */
export function emptyFolder(t) {
  const folder = mkdtempSync(join(tmpdir(), 'windlass-ts-'));
  t.after(() => rmSync(folder, {recursive: true}));
  return folder;
}

/** Makes the packages of the tests, and optionally this one, visible in a folder. */
export function link(folder, names) {
  for (const name of names) {
    const path = join(folder, 'node_modules', name);
    mkdirSync(join(path, '..'), {recursive: true});
    if (!existsSync(path)) symlinkSync(name === 'windlass' ? PACKAGE : join(PACKAGE, 'node_modules', name), path);
  }
}

/** Compiles a TypeScript file next to itself, strictly. */
export function compile(folder, name) {
  const tsc = join(PACKAGE, 'node_modules/typescript/bin/tsc');
  const options = ['--strict', '--noUncheckedIndexedAccess', '--target', 'es2022', '--module', 'nodenext', '--types', 'node'];
  execFileSync(process.execPath, [tsc, ...options, name], {cwd: folder, stdio: ['ignore', 'inherit', 'inherit']});
}

/** Runs a program until it prints a line, and then stops it with SIGTERM: it must end well. */
export async function runUntil(folder, program, line) {
  writeFileSync(join(folder, 'mail.mjs'), program);
  const child = spawn(process.execPath, ['mail.mjs'], {cwd: folder, stdio: ['ignore', 'pipe', 'ignore']});
  try {
    const [first] = await once(createInterface({input: child.stdout}), 'line');
    assert.equal(first, line);
    const exit = once(child, 'exit');
    child.kill('SIGTERM');
    assert.deepEqual(await exit, [0, null]);
  } finally {
    child.kill('SIGKILL');
  }
}
