// Starts of processes that outlive their starter: what they write, and what the system says when there is none.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { startDetached } from '../../src/supervise/process/start/start-detached.ts';

function folderWithLog(text: string) {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-detached-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const logFile = join(folder, 'instance.log');
  writeFileSync(logFile, text);
  return { folder, logFile };
}

it('says where its own lines begin, after those of earlier ones #command-line', async () => {
  const { folder: cwd, logFile } = folderWithLog('an old line\n');
  const args = ['-c', 'echo new; exit 3'];
  const started = startDetached({ command: '/bin/sh', args, env: {}, cwd, logFile });
  expect(await started.ended).toEqual({ code: 3, signal: null, error: null });
  expect(readFileSync(logFile).subarray(started.logFrom).toString()).toBe('new\n');
  const long = folderWithLog('x'.repeat(1_048_577));
  const again = startDetached({ command: '/bin/sh', args, env: {}, cwd, logFile: long.logFile });
  expect([(await again.ended).code, again.logFrom]).toEqual([3, 0]);
});

it.each([
  ['a program that is not there', { command: '/nowhere/program' }, 'ENOENT'],
  ['a folder that is gone', { cwd: '/nowhere' }, 'ENOENT'],
  ['a file that is no program', { command: '/' }, 'EACCES'],
  ['too many words, which Node throws', { args: ['x'.repeat(262_144)] }, 'E2BIG'],
])('names the error of the system: %s #command-line', async (_, wrong, error) => {
  const { folder: cwd, logFile } = folderWithLog('');
  const right = { command: '/bin/sh', args: ['-c', 'exit'], env: {}, cwd, logFile };
  const { ended } = startDetached({ ...right, ...wrong });
  expect(await ended).toEqual({ code: null, signal: null, error });
});
