// HTTP fronts in processes of their own replace each other at one address: this process keeps what listens, as a holder
// does, and passes idle connections on. Clients that send at any moment lose no request and see no reset.

import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { diceFrom, PipeliningClient } from '../support/pipelining-client.ts';
import { until } from '../support/until.ts';

const program = fileURLToPath(new URL('../fixtures/processes/rollout-front.ts', import.meta.url));
const loader = import.meta.resolve('tsx');

interface Said {
  readonly is: string;
  readonly id?: string;
  readonly port?: number;
  readonly isKnown?: boolean;
}

/** What IPC passes on; the types know no handles. */
type Handle = never;

interface Closable {
  close(): void;
}

/** How often each request was begun, by its id. */
const begun = new Map<string, number>();

function started(name: string) {
  const child: ChildProcess = fork(program, [name], { execArgv: ['--import', loader] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const said: Said[] = [];
  const idle: (readonly [Said, Handle])[] = [];
  const state: { listening?: Handle; take: (said: Said, handle: Handle) => void } = {
    take: (...one) => void idle.push(one),
  };
  child.on('message', (message, handle) => {
    const one = message as Said;
    if (one.is === 'begun') begun.set(String(one.id), (begun.get(String(one.id)) ?? 0) + 1);
    else if (one.is === 'connection') state.take(one, handle as Handle);
    else said.push(one);
    if (one.is !== 'serving') return;
    state.listening = handle as Handle;
    onTestFinished(() => (handle as unknown as Closable).close());
  });
  const has = (is: string) => until(() => said.some((one) => one.is === is), `${name}: ${is}`);
  const exited = () => until(() => child.exitCode !== null, `${name} to exit`);
  return { child, said, state, idle, has, exited };
}

describe('processes that replace each other', () => {
  it('serve every request of clients that keep their connections once, and reset none #rollout', async () => {
    const dice = diceFrom(29);
    let now = started('0');
    now.child.send({ is: 'serve' });
    await now.has('serving');
    const { listening } = now.state;
    const port = now.said[0]?.port ?? 0;
    const clients = Array.from(
      { length: 12 },
      (_, at) => new PipeliningClient(port, `c${at}`, dice),
    );
    let isOver = false;
    const sending = clients.map(async (client) => {
      while (!isOver && client.findings.length === 0) {
        await client.send(1 + dice(3));
        await client.done();
        for (let turns = dice(200); turns > 0; turns -= 1) await new Promise(setImmediate);
      }
      await client.done();
    });
    let kept = 0;
    for (let at = 1; at <= 6; at += 1) {
      const next = started(String(at));
      const was = now;
      was.child.send({ is: 'fence' });
      await was.has('fenced');
      next.child.send({ is: 'serve' }, listening as Handle);
      await next.has('serving');
      const give = (said: Said, handle: Handle) => {
        kept += 1;
        next.child.send(said, handle, {}, () => (handle as Closable).close());
      };
      was.state.take = give;
      for (const one of was.idle) give(...one);
      now = next;
      await was.has('ended');
      await was.exited();
    }
    isOver = true;
    await Promise.all(sending);
    expect(clients.flatMap(({ findings }) => findings)).toEqual([]);
    const answered = clients.flatMap(({ answers }) => [...answers.keys()]);
    expect(answered.length).toBeGreaterThan(100);
    await until(() => begun.size === answered.length, 'what was begun to be known');
    expect(answered.filter((id) => begun.get(id) !== 1)).toEqual([]);
    expect(kept).toBeGreaterThan(12);
    for (const client of clients) client.end();
    // The last one: nothing of its own keeps it.
    now.child.send({ is: 'fence' });
    await now.has('ended');
    await now.exited();
  });
});
