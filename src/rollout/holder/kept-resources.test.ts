import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { systemProcesses } from '../../supervise/process/watch/system-processes.ts';
import { KeptResources } from './kept-resources.ts';
import type { Told } from './messages.ts';
import type { ServingProcess } from './serving-process.ts';

const table = systemProcesses();

/** The reaper of an instance with one process, and a serving process that asks for its orderly end. */
async function ended(isLast: boolean) {
  const kept = new KeptResources({
    newInstance: () => '0123456789abcdef',
    table,
    notice: () => {},
  });
  const told: Told[] = [];
  const serving = { ordinal: 1, tell: (one: Told) => void told.push(one) };
  const ask = (op: 'reaper' | 'reaper-end', number: number) =>
    kept.heard(serving as unknown as ServingProcess, { op, ask: number }, undefined, isLast);
  const answered = async (number: number) => {
    while (!told.some((one) => one.op === 'answer' && one.ask === number)) {
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  ask('reaper', 1);
  await answered(1);
  const child = spawn('/bin/sleep', ['1000'], { detached: true, stdio: 'ignore' });
  const exit = once(child, 'exit');
  const found = await table.find(child.pid as number);
  if (found === null) throw new Error('the process is not there');
  const what = { pid: found.pid, start: found.start };
  const tell = { op: 'reaper-tell', change: 'add', what } as const;
  kept.heard(serving as unknown as ServingProcess, tell, undefined, isLast);
  ask('reaper-end', 2);
  await answered(2);
  await kept.close();
  return { child, exit };
}

describe('the orderly end of the reaper', () => {
  it('ends nothing, where the serving process is the only one', async () => {
    const { child, exit } = await ended(true);
    expect(child.exitCode ?? child.signalCode).toBeNull();
    child.kill('SIGTERM');
    expect(await exit).toEqual([null, 'SIGTERM']);
  });

  it('waits for the end of the holder, where former ones may still have processes #no-orphans', async () => {
    const { exit } = await ended(false);
    expect(await exit).toEqual([null, 'SIGKILL']);
  });
});
