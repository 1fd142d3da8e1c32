import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Fault } from '../../../kernel/fault.ts';
import { resolveCommand } from './command.ts';

let dir: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'holdfast-command-'));
  await mkdir(join(dir, 'bin'));
  await mkdir(join(dir, 'later'));
  await mkdir(join(dir, 'bin', 'folder'));
  await writeFile(join(dir, 'bin', 'good'), '#!/bin/sh\n');
  await writeFile(join(dir, 'bin', 'plain'), 'text');
  await writeFile(join(dir, 'later', 'plain'), '#! /bin/sh -e\n');
  await writeFile(join(dir, 'bin', 'broken'), '#!/nowhere/python3 -u\n');
  await writeFile(join(dir, 'local'), 'text');
  for (const file of ['bin/good', 'later/plain', 'bin/broken']) await chmod(join(dir, file), 0o755);
});

afterAll(() => rm(dir, { recursive: true }));

function find(command: string, cwd = dir, path: string | undefined = join(dir, 'bin')) {
  return resolveCommand({ server: 'files', command, cwd, path });
}

async function refusal(command: string, cwd?: string): Promise<string> {
  const thrown = await find(command, cwd).catch((error: unknown) => error);
  if (!(thrown instanceof Fault)) throw new Error('it was not refused');
  expect(thrown.record).toMatchObject({ code: 'unavailable', dispatched: 'no', server: 'files' });
  expect(thrown.message).not.toContain('\n');
  return thrown.message;
}

describe('resolving a command', () => {
  it('finds it on the PATH of the child, as an absolute file', async () => {
    expect(await find('good')).toBe(join(dir, 'bin', 'good'));
  });

  it('takes a command with a slash relative to the working directory, or as it is', async () => {
    expect(await find('./good', join(dir, 'bin'))).toBe(join(dir, 'bin', 'good'));
    expect(await find(join(dir, 'bin', 'good'), '/')).toBe(join(dir, 'bin', 'good'));
  });

  it('goes on searching past a file that cannot be executed', async () => {
    const path = `${join(dir, 'bin')}:${join(dir, 'later')}`;
    expect(await find('plain', dir, path)).toBe(join(dir, 'later', 'plain'));
  });

  it('says which PATH it searched', async () => {
    expect(await refusal('absent')).toBe(
      `the command 'absent' was not found on PATH: ${join(dir, 'bin')}`,
    );
  });

  it('shows a long PATH in part, each folder once, and is not retryable', async () => {
    const folders = Array.from({ length: 40 }, (_, index) => `/opt/tools/number-${index}/bin`);
    const path = [...folders, ...folders].join(':');
    const fault = await resolveCommand({ server: 's', command: 'absent', cwd: dir, path }).catch(
      (error: unknown) => error,
    );
    expect(fault).toMatchObject({ code: 'unavailable', record: { retryable: false } });
    const { message } = fault as Error;
    expect(message).toMatch(/PATH: \/opt\/tools\/number-0\/bin:.*:… \(40 folders\)$/);
    expect(message.length).toBeLessThan(200);
  });

  it('points to a file of that name in the working directory', async () => {
    expect(await refusal('local')).toContain("write './local'");
  });

  it('says that a directory is a directory', async () => {
    expect(await refusal('folder')).toContain('is a directory');
    expect(await refusal('./bin')).toContain('is a directory');
  });

  it('says that a file is not executable', async () => {
    expect(await refusal('plain')).toContain('is not executable');
    expect(await refusal('./local')).toContain('is not executable');
  });

  it('says that a file does not exist', async () => {
    expect(await refusal('./absent')).toContain(`'${join(dir, 'absent')}' does not exist`);
  });

  it('names the missing interpreter of a script', async () => {
    expect(await refusal('broken')).toContain("the interpreter '/nowhere/python3'");
  });

  it('says that the working directory is missing, or is none', async () => {
    expect(await refusal('good', join(dir, 'absent'))).toContain('does not exist: correct "cwd"');
    expect(await refusal('good', join(dir, 'local'))).toContain('is not a directory');
  });

  it('refuses an empty command', async () => {
    expect(await refusal('')).toContain("the command '' was not found");
  });
});
