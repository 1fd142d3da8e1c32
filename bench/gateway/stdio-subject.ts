// A subject between two pipes. They are named pipes, because the generator needs a blocking end of
// its own: what Node shares with a child it spawns never blocks. Our own descriptors stay open from
// run to run, so that the subject does not see its client go away.

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { callFrame } from './call-text.ts';
import { assertAnswered, assertResult, type Load, type Report } from './load.ts';
import { type Subject, stopProcess } from './subject.ts';

export interface StdioCommand {
  readonly name: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** What the subject puts before the names of the server's tools. */
  readonly prefix?: string;
}

const generator = fileURLToPath(new URL('./generators/stdio.mjs', import.meta.url));

export function startOnStdio({ name, args, env, prefix = '' }: StdioCommand): Subject {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  const toSubject = pipeAt(join(folder, 'in'));
  const fromSubject = pipeAt(join(folder, 'out'));
  const child = spawn(process.execPath, args, {
    stdio: [toSubject.readEnd, fromSubject.writeEnd, 'inherit'],
    env: { ...process.env, ...env },
  });
  closeSync(toSubject.readEnd);
  closeSync(fromSubject.writeEnd);
  return {
    name,
    pid: child.pid as number,
    async run(load, seconds) {
      const frame = callFrame(prefix + load.tool, { kind: 'modern' });
      const report = await generate(
        { frame, inFlight: load.inFlight, seconds },
        fromSubject.readEnd,
        toSubject.writeEnd,
      );
      assertResult(name, load, report.firstAnswer);
      assertAnswered(name, load, report);
      return report;
    },
    async [Symbol.asyncDispose]() {
      await stopProcess(child, () => closeSync(toSubject.writeEnd));
      closeSync(fromSubject.readEnd);
      rmSync(folder, { recursive: true });
    },
  };
}

interface Order extends Pick<Load, 'inFlight'> {
  readonly frame: string;
  readonly seconds: number;
}

async function generate(order: Order, from: number, to: number) {
  const process_ = spawn(process.execPath, [generator, JSON.stringify(order)], {
    stdio: [from, to, 'inherit', 'pipe'],
    timeout: 60_000,
  });
  const ended = once(process_, 'exit');
  const report = await text(process_.stdio[3] as Readable);
  const [code] = await ended;
  if (code !== 0) throw new Error('The generator got no answer from the subject.');
  return JSON.parse(report) as Report & { readonly firstAnswer: string };
}

/** A named pipe with both ends open; opening one end waits for the other, hence the third. */
function pipeAt(path: string): { readonly readEnd: number; readonly writeEnd: number } {
  execFileSync('mkfifo', [path]);
  const opener = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const writeEnd = openSync(path, 'w');
  const readEnd = openSync(path, 'r');
  closeSync(opener);
  return { readEnd, writeEnd };
}
