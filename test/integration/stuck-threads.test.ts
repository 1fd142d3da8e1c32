// A thread that never comes back from the disk, as from a named pipe that nobody writes to or a network disk
// that has gone: a process that is told to end still ends, because the exit of Node would wait for it.

import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, writeFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { errnoOf } from '../../src/kernel/errno.ts';
import { GatewayHome, type Started } from '../support/gateway-home.ts';
import { until } from '../support/until.ts';

/** Before the program begins, a thread of the pool and a worker read what never comes. */
const preload = `
  const { isMainThread, Worker } = require('node:worker_threads');
  const { readFile } = require('node:fs');
  const read = \`
    const { openSync, readSync } = require('node:fs');
    const { workerData } = require('node:worker_threads');
    const pipe = openSync(process.env.WORKER_PIPE, 'r');
    Atomics.store(workerData, 0, 1);
    Atomics.notify(workerData, 0);
    readSync(pipe, Buffer.alloc(1));
  \`;
  if (isMainThread) {
    const workerData = new Int32Array(new SharedArrayBuffer(4));
    readFile(process.env.POOL_PIPE, () => {});
    new Worker(read, { eval: true, workerData }).unref();
    Atomics.wait(workerData, 0, 0);
  }
`;

const names = ['POOL_PIPE', 'WORKER_PIPE'] as const;

/** Starts `holdfast`; resolves when both threads are stuck. */
async function stuck(home: GatewayHome, start: (env: Record<string, string>) => Started) {
  const file = home.file('preload.cjs');
  writeFileSync(file, preload);
  const pipes = names.map((name) => home.file(name));
  execFileSync('mkfifo', pipes);
  const env = Object.fromEntries(names.map((name) => [name, home.file(name)]));
  const started = start({ ...env, NODE_OPTIONS: `--require ${file}` });
  for (const pipe of pipes) await until(() => isRead(pipe), 'the pipe is being read');
  return started;
}

/** It stays open for writing: whoever reads it waits until the end of the test. */
function isRead(pipe: string): boolean {
  try {
    const held = openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK);
    onTestFinished(() => closeSync(held));
    return true;
  } catch (error) {
    if (errnoOf(error) === 'ENXIO') return false;
    throw error;
  }
}

/** Each look is another signal. */
async function endedBy(started: Started) {
  let hasEnded = false;
  const ended = started.ended.finally(() => {
    hasEnded = true;
  });
  const isEnded = () => {
    if (!hasEnded) started.kill('SIGTERM');
    return hasEnded;
  };
  try {
    await until(isEnded, 'it has ended');
  } finally {
    started.kill('SIGKILL');
  }
  return await ended;
}

describe('a process with threads that never come back', () => {
  it('is ended by the second signal #drain', async () => {
    await using home = await GatewayHome.create();
    const words = ['--listen', '127.0.0.1:0', '--json'];
    const started = await stuck(home, (env) => home.start(words, env));
    await started.printed('"url"');
    expect((await endedBy(started)).signal).toBe('SIGTERM');
  });

  it('and that has done its work is ended by a signal while it exits #command-line', async () => {
    await using home = await GatewayHome.create();
    const started = await stuck(home, (env) => home.start(['--help'], env));
    await started.printed('Examples:');
    expect((await endedBy(started)).signal).toBe('SIGTERM');
  });
});
