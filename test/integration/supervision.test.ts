// The hard parts of supervision with real processes. "Ran once" and "started once" are read from
// the files the fixture writes, never from our own counters.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Host } from '../../src/host/host.ts';
import { faultyStdio, temporaryFolder } from '../support/faulty.ts';
import { faultOf, hostWith, isAlive, processesWith, statusOf, textOf } from '../support/host.ts';
import { executions, readStarts, received } from '../support/ledger.ts';
import { until } from '../support/until.ts';

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let host: Host | undefined;

beforeEach(async () => {
  folder = await temporaryFolder();
});

afterEach(async () => {
  await host?.close();
  host = undefined;
  await folder[Symbol.asyncDispose]();
});

function files() {
  return {
    ledger: folder.file('ledger'),
    starts: folder.file('starts'),
    state: folder.file('state'),
  };
}

async function start(entry: Readonly<Record<string, unknown>> = {}): Promise<Host> {
  host = await hostWith({ box: { ...faultyStdio(files()), ...entry } });
  return host;
}

/** Kills the server's process from outside, as soon as it has read the call. */
async function killDuring(running: Host, nonce: string): Promise<void> {
  const { ledger } = files();
  await until(() => received(ledger, nonce) === 1, `${nonce} is received`);
  process.kill(statusOf(running, 'box').pid ?? 0, 'SIGKILL');
}

describe('a server that dies in the middle of a call', () => {
  it('answers a trusted read as if nothing had happened, with one restart #read-survives', async () => {
    const running = await start({ trusted: true });
    await running.call('box', 'set', { key: 'k', value: 'kept' });
    const hangs = { kind: 'hang', once: folder.file('hung') };
    const reading = running.call('box', 'get', { key: 'k', nonce: 'read', fault: hangs });
    await killDuring(running, 'read');
    expect(JSON.stringify(await reading)).toContain('kept');
    expect(readStarts(files().starts)).toHaveLength(2);
    expect(statusOf(running, 'box')).toMatchObject({ state: 'ready', generation: 2, restarts: 1 });
    expect(running.status().calls.replays).toBe(1);
  });

  it('answers a call without hints with outcome unknown and runs it exactly once #never-twice #one-answer', async () => {
    const running = await start({ trusted: true });
    const hangs = { kind: 'hang', effect: true };
    const fault = faultOf(
      running.call('box', 'add', { key: 'k', amount: 1, nonce: 'write', fault: hangs }),
    );
    const { ledger } = files();
    await until(() => executions(ledger, 'write') === 1, 'the effect happened');
    process.kill(statusOf(running, 'box').pid ?? 0, 'SIGKILL');
    expect((await fault).record).toMatchObject({
      code: 'outcome_unknown',
      server: 'box',
      tool: 'add',
      dispatched: 'maybe',
      attempts: 1,
      retryable: false,
    });
    await running.call('box', 'get', { key: 'k' });
    expect(executions(ledger, 'write')).toBe(1);
  });

  it('names the key `trusted` when only trust was missing for a read #never-twice', async () => {
    const running = await start();
    const hangs = { kind: 'hang' };
    const fault = faultOf(running.call('box', 'get', { key: 'k', nonce: 'read', fault: hangs }));
    await killDuring(running, 'read');
    expect((await fault).code).toBe('outcome_unknown');
    expect((await fault).message).toContain('"trusted": true');
  });

  it('repeats what the operator calls safe, whatever its annotations #read-survives', async () => {
    const running = await start({ tools: { append: { replay: 'safe' } } });
    const crash = { kind: 'crash-after-effect', signal: 'SIGKILL', once: folder.file('crashed') };
    await running.call('box', 'append', { key: 'k', value: 'x', nonce: 'twice', fault: crash });
    expect(executions(files().ledger, 'twice')).toBe(2);
  });

  it('never repeats what the operator forbids, although it is a trusted read #never-twice', async () => {
    const running = await start({ trusted: true, tools: { get: { replay: 'never' } } });
    const crash = { kind: 'crash-before-effect' };
    const fault = await faultOf(
      running.call('box', 'get', { key: 'k', nonce: 'no', fault: crash }),
    );
    expect(fault.code).toBe('outcome_unknown');
    expect(received(files().ledger, 'no')).toBe(1);
  });

  it('does not repeat a read whose definition changed when the server came back #never-twice', async () => {
    const changed = { kind: 'changed-definition', of: 'get', fromStart: 2 } as const;
    host = await hostWith({
      box: { ...faultyStdio({ ...files(), faults: [changed] }), trusted: true },
    });
    const crash = { kind: 'crash-before-effect', once: folder.file('crashed') };
    const fault = await faultOf(host.call('box', 'get', { key: 'k', nonce: 'old', fault: crash }));
    expect(fault.code).toBe('outcome_unknown');
    expect(fault.message).toContain('definition changed');
    expect(received(files().ledger, 'old')).toBe(1);
  });

  it('gives every one of 30 running calls exactly one answer and counts one failure #one-answer #breaker', async () => {
    const running = await start({ trusted: true });
    await running.call('box', 'get', { key: 'k' });
    const hangs = { kind: 'hang' };
    const calls = Array.from({ length: 30 }, (_, n) =>
      faultOf(running.call('box', 'add', { key: 'k', amount: 1, nonce: `n${n}`, fault: hangs })),
    );
    const { ledger } = files();
    await until(() => received(ledger, 'n29') === 1, 'all are received');
    process.kill(statusOf(running, 'box').pid ?? 0, 'SIGKILL');
    const codes = (await Promise.all(calls)).map(({ code }) => code);
    expect(new Set(codes)).toEqual(new Set(['outcome_unknown']));
    expect(statusOf(running, 'box')).toMatchObject({ consecutiveFailures: 1, circuit: 'closed' });
  });
});

describe('starting', () => {
  it('starts one process for 20 parallel first calls #one-start #lazy', async () => {
    const running = await start();
    expect(readStarts(files().starts)).toHaveLength(0);
    expect(statusOf(running, 'box')).toMatchObject({ state: 'idle', pid: null, lazy: true });
    const calls = Array.from({ length: 20 }, (_, n) =>
      running.call('box', 'echo', { text: `${n}` }),
    );
    const answers = (await Promise.all(calls)).map(textOf);
    expect(answers).toEqual(Array.from({ length: 20 }, (_, n) => `${n}`));
    expect(readStarts(files().starts)).toHaveLength(1);
  });

  it('leaves no process when it is stopped while it connects #generations', async () => {
    const slow = { kind: 'slow-start', ms: 30_000 } as const;
    host = await hostWith({ box: faultyStdio({ ...files(), faults: [slow] }) });
    const fault = faultOf(host.call('box', 'echo', { text: 'x' }));
    await until(() => readStarts(files().starts).length === 1, 'the process has started');
    expect(processesWith(files().starts)).not.toHaveLength(0);
    await host.stop('box');
    expect((await fault).record).toMatchObject({ code: 'unavailable', dispatched: 'no' });
    expect(processesWith(files().starts)).toEqual([]);
    expect(statusOf(host, 'box')).toMatchObject({ state: 'idle', pid: null });
  });

  it('ends a server that is never ready at its start timeout #deadline', async () => {
    const hangs = { kind: 'hang', when: 'at-start' } as const;
    host = await hostWith({
      box: { ...faultyStdio({ ...files(), faults: [hangs] }), startTimeoutMs: 300 },
    });
    const fault = await faultOf(host.call('box', 'echo', { text: 'x' }));
    expect(fault.record).toMatchObject({ code: 'start_timeout', dispatched: 'no', server: 'box' });
  });

  it('opens the circuit on a program that exits at once, ejects it, and lets a reload clear it #restart-budget #breaker', async () => {
    host = await hostWith({
      box: {
        command: process.execPath,
        args: ['-e', 'console.error("usage: box"); process.exit(3)'],
        restart: { max: 3, minDelayMs: 1, maxDelayMs: 5 },
        circuit: { threshold: 2, resetMs: 40 },
      },
    });
    const running = host;
    const codes: string[] = [];
    while (codes.at(-1) !== 'ejected') {
      await until(() => statusOf(running, 'box').circuit !== 'open', 'a probe may go');
      const fault = await faultOf(running.call('box', 'echo', {}));
      codes.push(fault.code);
      if (codes.length === 2) expect(statusOf(running, 'box').circuit).toBe('open');
      if (codes.length === 1)
        expect(fault.record).toMatchObject({ stderr: 'usage: box', attempts: 0 });
    }
    expect(codes).toEqual(['unavailable', 'unavailable', 'unavailable', 'unavailable', 'ejected']);
    expect(statusOf(running, 'box')).toMatchObject({
      state: 'ejected',
      ejected: true,
      restartsLeft: 0,
    });
    expect((await faultOf(running.call('box', 'echo', {}))).message).toContain(
      "call host.reload('box')",
    );
    await running.reload('box');
    expect(statusOf(running, 'box')).toMatchObject({
      state: 'idle',
      restarts: 0,
      circuit: 'closed',
    });
    expect((await faultOf(running.call('box', 'echo', {}))).code).toBe('unavailable');
  });

  it('starts what is not lazy at once, keeps it, and fails a spawn that cannot come up #lazy', async () => {
    host = await hostWith({});
    await host.spawn({ name: 'box', ...faultyStdio(files()) });
    expect(statusOf(host, 'box')).toMatchObject({ state: 'ready', pinned: true, lazy: false });
    const { pid } = statusOf(host, 'box');
    process.kill(pid ?? 0, 'SIGKILL');
    const running = host;
    await until(() => statusOf(running, 'box').generation === 2, 'it is back by itself');
    const broken = host.spawn({ name: 'bad', command: process.execPath, args: ['-e', ''] });
    expect((await faultOf(broken)).code).toBe('unavailable');
    expect(host.status().servers.map(({ name }) => name)).toEqual(['box']);
  });
});

describe('errors of a living server', () => {
  it('never count, whatever they say: ten tool errors about a connection leave the circuit closed #alive-errors #typed-faults', async () => {
    const running = await start({ circuit: { threshold: 3 } });
    await running.call('box', 'echo', { text: 'up' });
    const { pid } = statusOf(running, 'box');
    for (let n = 0; n < 10; n += 1) {
      const text = 'could not connect to the database: server closed connection';
      expect((await running.call('box', 'fail', { text })).isError).toBe(true);
      const fault = await faultOf(
        running.call('box', 'rpc_fail', { code: -32000, message: 'disconnected', data: { n } }),
      );
      expect(fault.record).toMatchObject({
        code: 'rpc_error',
        dispatched: 'yes',
        rpc: { code: -32000, message: 'disconnected', data: { n } },
      });
    }
    expect(statusOf(running, 'box')).toMatchObject({
      pid,
      circuit: 'closed',
      consecutiveFailures: 0,
      restarts: 0,
    });
  });

  it('a timeout cancels the call and keeps the process #timeout-is-not-death #deadline', async () => {
    const running = await start();
    await running.call('box', 'echo', { text: 'up' });
    const { pid } = statusOf(running, 'box');
    const fault = await faultOf(
      running.call('box', 'slow', { ms: 60_000, nonce: 's' }, { timeoutMs: 100 }),
    );
    expect(fault.record).toMatchObject({ code: 'timeout', dispatched: 'maybe' });
    await running.call('box', 'echo', { text: 'still there' });
    expect(statusOf(running, 'box')).toMatchObject({ pid, generation: 1 });
  });

  it('a server that answers neither the call nor a probe is restarted #timeout-is-not-death', async () => {
    const running = await start();
    await running.call('box', 'echo', { text: 'up' });
    const frozen = running.call(
      'box',
      'echo',
      { text: 'x', fault: { kind: 'freeze' } },
      { timeoutMs: 100 },
    );
    expect((await faultOf(frozen)).code).toBe('timeout');
    await until(() => statusOf(running, 'box').restarts === 1, 'the failed probe was noticed');
    expect(textOf(await running.call('box', 'echo', { text: 'back' }))).toBe('back');
    expect(statusOf(running, 'box').generation).toBe(2);
  });

  it('progress keeps a long call alive beyond its timeout, up to its absolute end #deadline', async () => {
    const running = await start({ callTimeoutMs: 600, maxCallMs: 1_500 });
    await running.call('box', 'echo', { text: 'up' });
    const seen: number[] = [];
    const onProgress = ({ progress }: { progress: number }) => seen.push(progress);
    await running.call('box', 'slow', { ms: 1_000, progressEvery: 100 }, { onProgress });
    expect(seen.length).toBeGreaterThan(3);
    const endless = running.call('box', 'slow', { ms: 60_000, progressEvery: 100 });
    expect((await faultOf(endless)).record).toMatchObject({ code: 'timeout', dispatched: 'yes' });
  });
});

describe('a half-open circuit', () => {
  it('lets one of 20 parallel calls through, and a cancelled probe frees the slot #breaker #cancel', async () => {
    const running = await start({ circuit: { threshold: 1, resetMs: 50 } });
    await running.call('box', 'echo', { text: 'up' });
    const hangs = { kind: 'hang' };
    const trip = running.call('box', 'get', { key: 'k', fault: hangs }, { timeoutMs: 50 });
    expect((await faultOf(trip)).code).toBe('timeout');
    expect(statusOf(running, 'box').state).toBe('degraded');
    await until(() => statusOf(running, 'box').circuit === 'half_open', 'the window is over');
    const giveUp = new AbortController();
    const calls = Array.from({ length: 20 }, (_, n) =>
      faultOf(
        running.call(
          'box',
          'get',
          { key: 'k', nonce: `p${n}`, fault: hangs },
          { signal: giveUp.signal },
        ),
      ),
    );
    const { ledger } = files();
    await until(() => received(ledger, 'p0') === 1, 'the probe has arrived');
    giveUp.abort();
    const codes = (await Promise.all(calls)).map(({ code }) => code);
    expect(codes.filter((code) => code === 'cancelled')).toHaveLength(1);
    expect(codes.filter((code) => code === 'circuit_open')).toHaveLength(19);
    const reached = Array.from({ length: 20 }, (_, n) => received(ledger, `p${n}`));
    expect(reached.reduce((sum, n) => sum + n, 0)).toBe(1);
    expect(textOf(await running.call('box', 'echo', { text: 'probe' }))).toBe('probe');
    expect(statusOf(running, 'box').circuit).toBe('closed');
  });
});

describe('leases', () => {
  it('keep a server while one of two owners holds it, however often the other releases #leases', async () => {
    const running = await start({ keepAliveMs: 0 });
    const first = await running.lease('box', { owner: 'skill:a' });
    const second = await running.lease('box', { owner: 'skill:b' });
    const { pid } = statusOf(running, 'box');
    expect(statusOf(running, 'box').leases).toEqual(['skill:a', 'skill:b']);
    first.release();
    first.release();
    await running.call('box', 'echo', { text: 'x' });
    expect(statusOf(running, 'box')).toMatchObject({ pid, state: 'ready', leases: ['skill:b'] });
    await second[Symbol.asyncDispose]();
    await until(() => statusOf(running, 'box').state === 'idle', 'the last release ended it');
    expect(isAlive(pid ?? 0)).toBe(false);
  });

  it('a call holds its server only while it runs #idle-stop', async () => {
    const running = await start({ keepAliveMs: 0 });
    await running.call('box', 'echo', { text: 'x' });
    await until(() => statusOf(running, 'box').state === 'idle', 'it has ended');
    await running.call('box', 'echo', { text: 'x' });
    expect(readStarts(files().starts)).toHaveLength(2);
  });
});

describe('noise', () => {
  it('a flood on stderr and banners on stdout do not keep a server from answering #noise', async () => {
    const faults = [
      { kind: 'stderr-flood', bytes: 1_048_576 },
      { kind: 'stderr-flood', bytes: 1_048_576, lineBytes: 0 },
      { kind: 'banner', lines: 200, text: 'Server listening, have fun!' },
    ] as const;
    host = await hostWith({ box: faultyStdio({ ...files(), faults }) });
    expect(textOf(await host.call('box', 'echo', { text: 'here' }))).toBe('here');
    const bytes = statusOf(host, 'box').stderr.join('').length;
    expect(bytes).toBeLessThan(200_000);
  });

  it('answers that belong to no call reach nobody #right-answer', async () => {
    const running = await start();
    for (const kind of ['duplicate-id', 'unknown-id']) {
      expect(textOf(await running.call('box', 'echo', { text: kind, fault: { kind } }))).toBe(kind);
    }
    const late = { kind: 'late', ms: 200 };
    const slow = running.call('box', 'echo', { text: 'late', fault: late }, { timeoutMs: 50 });
    expect((await faultOf(slow)).code).toBe('timeout');
    const foreign = { kind: 'foreign-id', form: 'string' };
    const strange = running.call('box', 'echo', { text: 'x', fault: foreign }, { timeoutMs: 300 });
    expect((await faultOf(strange)).code).toBe('timeout');
    const answers = Array.from({ length: 50 }, (_, n) =>
      running.call('box', 'echo', { text: `${n}` }),
    );
    expect((await Promise.all(answers)).map(textOf)).toEqual(answers.map((_, n) => `${n}`));
  });
});

describe('overload', () => {
  it('a server carries its number of calls, queues its number more, and refuses the next at once #overload', async () => {
    const running = await start({ concurrency: 2, queue: 3 });
    await running.call('box', 'echo', { text: 'up' });
    const calls = Array.from({ length: 5 }, (_, n) =>
      running.call('box', 'slow', { ms: 200, nonce: `c${n}` }),
    );
    const refused = await faultOf(running.call('box', 'echo', { text: 'x' }));
    expect(refused.record).toMatchObject({ code: 'overloaded', dispatched: 'no', retryable: true });
    expect(statusOf(running, 'box')).toMatchObject({ inFlight: 2, queued: 3 });
    await Promise.all(calls);
    expect(statusOf(running, 'box')).toMatchObject({ inFlight: 0, queued: 0 });
  });
});
