// A subject behind an HTTP address. Floors and Holdfast are called as 2026-07-28 has it, one POST a
// call; a peer that is faster in a legacy session gets one, opened before the load.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { callFrame, callHeaders, type Dialect, httpRequest } from './call-text.ts';
import type { HttpGenerator } from './http-generator.ts';
import { assertAnswered, assertResult, type Report } from './load.ts';
import { type Subject, stopProcess } from './subject.ts';

export interface HttpCommand {
  readonly name: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly prefix?: string;
  /** Where it listens; without it, the first line of its stdout says so: { url, token? }. */
  readonly url?: string;
  /** What to send if it announces none. */
  readonly token?: string;
  readonly dialect: Dialect['kind'];
}

export async function startOnHttp(
  command: HttpCommand,
  generator: HttpGenerator,
): Promise<Subject> {
  const { name, prefix = '' } = command;
  const child = spawn(process.execPath, command.args, {
    stdio: ['ignore', command.url ? 'ignore' : 'pipe', 'inherit'],
    env: { ...process.env, ...command.env },
  });
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  const stop = async () => {
    await stopProcess(child, () => child.kill('SIGTERM'));
    rmSync(folder, { recursive: true });
  };
  try {
    const { url, token } = command.url
      ? { url: await listening(command.url), token: null }
      : await announced(child);
    const secret = token ?? command.token;
    const authorization = secret ? { authorization: `Bearer ${secret}` } : {};
    const dialect = command.dialect === 'modern' ? modern : await openSession(url);
    return {
      name,
      pid: child.pid as number,
      async run(load, seconds) {
        const tool = prefix + load.tool;
        const frame = callFrame(tool, dialect);
        const headers = { ...callHeaders(tool, dialect), ...authorization };
        assertResult(name, load, await firstCall(url, headers, frame));
        const file = join(folder, 'request');
        writeFileSync(file, httpRequest(new URL(url), headers, frame));
        const report = await untilAnswered((longer) =>
          generator.run({ url, file, inFlight: load.inFlight, seconds: seconds * longer }),
        );
        assertAnswered(name, load, report);
        return report;
      },
      [Symbol.asyncDispose]: stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function firstCall(url: string, headers: Record<string, string>, frame: string) {
  const answer = await fetch(url, { method: 'POST', headers, body: frame.replace('@ID@', '1') });
  return answer.text();
}

/** A peer may need longer for one answer of 5 MB than a round has. */
async function untilAnswered(run: (longer: number) => Promise<Report>): Promise<Report> {
  for (const longer of [1, 4]) {
    const report = await run(longer);
    if (report.calls > 0) return report;
  }
  return run(16);
}

const modern = { kind: 'modern' } as const;

interface Announcement {
  readonly url: string;
  readonly token?: string | null;
}

async function announced({ stdout }: ChildProcess): Promise<Announcement> {
  const lines = createInterface(stdout as Readable);
  const ended = once(lines, 'close').then(() => {
    throw new Error('The subject ended before it listened.');
  });
  const [line] = await Promise.race([once(lines, 'line'), ended]);
  return JSON.parse(line);
}

/** Waits until something answers there, whatever it answers. */
async function listening(url: string): Promise<string> {
  const deadline = performance.now() + 30_000;
  for (;;) {
    try {
      await (await fetch(url, { method: 'OPTIONS' })).arrayBuffer();
      return url;
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await pause(50);
    }
  }
}

async function openSession(url: string): Promise<Dialect> {
  const post = (message: object, sessionId?: string) =>
    fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(sessionId && { 'mcp-session-id': sessionId }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    });
  const answer = await post({
    id: 1,
    method: 'initialize',
    params: {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'bench', version: '0' },
    },
  });
  const sessionId = answer.headers.get('mcp-session-id');
  await answer.text();
  if (!sessionId) throw new Error(`${url} opened no session: HTTP ${answer.status}`);
  await (await post({ method: 'notifications/initialized' }, sessionId)).text();
  return { kind: 'session', sessionId };
}
