import { describe, expect, it } from 'vitest';
import { ManualClock, manualClock, settled } from '../../../test/support/manual-clock.ts';
import {
  type Script,
  ScriptedChild,
  ScriptedServer,
  spawnScripted,
  text,
} from '../../../test/support/scripted-server.ts';
import { Fault } from '../../kernel/fault.ts';
import type { Child } from '../../supervise/child.ts';
import { noParams } from '../../wire/frames.ts';
import { connectStdio } from './connect-stdio.ts';
import type { StdioConnectionParts } from './stdio-parts.ts';

const spec = {
  name: 'files',
  command: 'files',
  args: [],
  env: {},
  inheritEnv: [],
  cwd: '/',
  memoryMb: null,
  processes: null,
};

const noMemory: StdioConnectionParts['eras'] = {
  known: async () => ({}),
  learn: () => {},
  notInitialized: () => {},
  kept: async () => {},
};

function connecting(
  spawn: StdioConnectionParts['spawn'],
  signal: AbortSignal,
  clock = manualClock(),
  lost: (cause: Fault) => void = () => {},
  { eras = noMemory, first = 'modern' }: Partial<Pick<StdioConnectionParts, 'eras' | 'first'>> = {},
) {
  const parts: StdioConnectionParts = {
    server: 'files',
    spec,
    frameBytes: 10_000,
    spawn,
    clock,
    identity: { name: 'holdfast', version: '0' },
    capabilities: '{}',
    startTimeoutMs: 60_000,
    first,
    eras,
  };
  return connectStdio(parts, 1, signal, {
    lost,
    ended: () => {},
    lastWords: () => {},
    notification: () => {},
    asked: () => {},
    missed: () => {},
    noise: () => {},
  });
}

describe('a connection on stdio that is cancelled while its process is being started', () => {
  it('ends the process as soon as it is there #generations', async () => {
    const stop = new AbortController();
    const server = new ScriptedServer();
    let arrive: ((child: Child) => void) | undefined;
    let child: ScriptedChild | undefined;
    const opening = connecting((_spec, listener) => {
      child = new ScriptedChild(7, server, listener);
      return new Promise((resolve) => {
        arrive = resolve;
      });
    }, stop.signal);
    await settled();
    stop.abort(new Fault('unavailable', 'files was stopped'));
    if (child) arrive?.(child);
    await expect(opening).rejects.toMatchObject({ message: 'files was stopped' });
    expect(child?.isGone).toBe(true);
    expect(child?.heard).toEqual([]);
  });
});

describe('a server that exits right behind its answer to the greeting', () => {
  it.each([
    ['modern', 'server/discover', { supportedVersions: ['2026-07-28'], capabilities: {} }],
    ['legacy', 'initialize', { protocolVersion: '2025-11-25', capabilities: {} }],
  ] as const)('has not started: %s #eras', async (first, method, result) => {
    const server = new ScriptedServer({
      era: first,
      on: {
        [method]: (heard, child) => {
          child.answer(heard, result);
          child.exit({ code: 3, signal: null });
        },
      },
    });
    const { signal } = new AbortController();
    const spawn = spawnScripted({ files: server });
    const opening = connecting(spawn, signal, manualClock(), () => {}, { first });
    await expect(opening).rejects.toMatchObject({ code: 'unavailable' });
  });
});

describe('initialize on stdio', () => {
  it('is never cancelled, even if the server turns out to use the other era', async () => {
    const server = new ScriptedServer({ era: 'modern', on: { initialize: () => undefined } });
    const clock = manualClock();
    const { signal } = new AbortController();
    const opening = connecting(spawnScripted({ files: server }), signal, clock, () => {}, {
      first: 'legacy',
    });
    await clock.advanceAsync(16_000);
    const connection = await opening;
    expect(connection.era).toBe('modern');
    // What was written before it has been heard by then.
    await connection.request('ping', noParams).answer;
    expect(server.heard('notifications/cancelled')).toEqual([]);
  });

  it.each(['exits', 'closes its stdout'])(
    'begins with the probe at the next start when a server of unknown era %s for it #eras',
    async (how) => {
      let hasEnded = false;
      const eras: StdioConnectionParts['eras'] = {
        ...noMemory,
        known: async () => (hasEnded ? { legacy: false } : {}),
        notInitialized: () => {
          hasEnded = true;
        },
      };
      const server = new ScriptedServer({
        era: 'modern',
        on: {
          initialize: (_heard, child) => {
            if (how === 'exits') child.exit({ code: 1, signal: null });
            else child.closeStdout();
          },
        },
      });
      const clock = manualClock();
      const { signal } = new AbortController();
      const spawn = spawnScripted({ files: server });
      const connect = () =>
        connecting(spawn, signal, clock, () => {}, { eras, first: 'legacy' }).catch(
          (error: Fault) => error,
        );
      const failing = connect();
      await clock.advanceAsync(1_000);
      expect(await failing).toMatchObject({ code: 'unavailable' });
      expect(await connect()).toMatchObject({ era: 'modern' });
      expect([server.children.length, server.heard('initialize').length]).toEqual([2, 1]);
    },
  );
});

/** A connection to a scripted server that answers `tools/call`, and what became of it. */
async function connected(on: Script['on'] = {}) {
  const server = new ScriptedServer({ on: { 'tools/call': () => text('ok'), ...on } });
  const clock = new ManualClock();
  const lost: Fault[] = [];
  const { signal } = new AbortController();
  const spawn = spawnScripted({ files: server });
  const connection = await connecting(spawn, signal, clock, (cause) => lost.push(cause));
  const print = (lines: number) => server.child.say(Array(lines).fill('a log line').join('\n'));
  return { server, clock, lost, connection, print };
}

describe('a server on stdio that prints what is not MCP', () => {
  it('stays while it answers, however much it prints #noise', async () => {
    const { clock, connection, lost, print } = await connected();
    for (let call = 0; call < 500; call++) {
      print(30);
      await clock.advanceAsync(50);
      expect((await connection.request('tools/call', noParams).answer).kind).toBe('result');
    }
    expect([lost, connection.isLost]).toEqual([[], false]);
  });

  it('stays when it prints without end, nobody calls it, and it answers the probe #noise', async () => {
    const { server, clock, connection, lost, print } = await connected({ ping: () => ({}) });
    for (let second = 0; second < 300; second++) {
      print(500);
      await clock.advanceAsync(1_000);
    }
    expect([lost, connection.isLost]).toEqual([[], false]);
    expect(server.heard('ping').length).toBeGreaterThan(1);
  });

  it('ends when it prints without end and answers nothing, not even the probe #noise', async () => {
    const { server, clock, connection, lost, print } = await connected({ ping: () => undefined });
    for (let second = 0; second < 40 && lost.length === 0; second++) {
      print(100);
      await clock.advanceAsync(1_000);
    }
    expect([server.heard('ping').length, connection.isLost]).toEqual([1, true]);
    expect(lost.map(({ code }) => code)).toEqual(['protocol_violation']);
    expect(lost[0]?.message).toMatch(/^files printed \d{4} lines to stdout that are not MCP/);
  });

  it('is read no further while it is held back, whatever it has printed', async () => {
    const { server, clock, connection, print } = await connected();
    const pipe: string[] = [];
    server.child.pause = () => pipe.push('pause');
    server.child.resume = () => pipe.push('resume');
    connection.hold?.(true);
    print(1_500);
    await clock.advanceAsync(1_000);
    expect(pipe).not.toContain('resume');
    connection.hold?.(false);
    expect(pipe.at(-1)).toBe('resume');
  });

  it('is left to the deadline of the call that it is busy with', async () => {
    const { server, clock, lost, connection, print } = await connected({
      'tools/call': () => undefined,
      ping: () => undefined,
    });
    const exchange = connection.request('tools/call', noParams);
    for (let second = 0; second < 120; second++) {
      print(100);
      await clock.advanceAsync(1_000);
    }
    expect([lost, server.heard('ping')]).toEqual([[], []]);
    server.child.answer(server.child.last('tools/call'), text('done'));
    expect((await exchange.answer).kind).toBe('result');
  });

  it('stays however often its answers are beyond the limit #noise', async () => {
    const { connection, lost, clock } = await connected({
      'tools/call': () => text('x'.repeat(20_000)),
    });
    for (let call = 0; call < 10; call++) {
      const answer = connection.request('tools/call', noParams).answer;
      await expect(answer).rejects.toMatchObject({ code: 'frame_too_large' });
      clock.advance(60_000);
    }
    expect([lost, connection.isLost]).toEqual([[], false]);
  });
});
