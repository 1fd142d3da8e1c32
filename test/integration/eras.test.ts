// Servers of either era, over every transport, and servers that react oddly to the modern probe.

import { afterEach, describe, expect, it } from 'vitest';
import type { ServerInput } from '../../src/config/config-input.ts';
import type { Host } from '../../src/host/host.ts';
import { type FaultyHttp, faultyHttp, faultyStdio, temporaryFolder } from '../support/faulty.ts';
import { faultOf, hostWith, statusOf, textOf } from '../support/host.ts';
import { executions, readStarts, received } from '../support/ledger.ts';
import { until } from '../support/until.ts';

let host: Host | undefined;
const owned: AsyncDisposable[] = [];

afterEach(async () => {
  await host?.close();
  host = undefined;
  for (const thing of owned.splice(0)) await thing[Symbol.asyncDispose]();
});

async function remote(options: Parameters<typeof faultyHttp>[0]): Promise<FaultyHttp> {
  const server = await faultyHttp(options);
  owned.push(server);
  return server;
}

async function box(entry: ServerInput): Promise<Host> {
  host = await hostWith({ box: entry });
  return host;
}

/** How many requests the server itself believes to be working on, this question included. */
async function inFlight(running: Host, server: string): Promise<number> {
  const { structuredContent } = await running.call(server, 'whoami');
  return (structuredContent as { inFlight: number }).inFlight;
}

describe('the era of a server', () => {
  it.each([
    ['legacy', 'legacy', '2025-11-25'],
    ['modern', 'modern', '2026-07-28'],
    ['both', 'modern', '2026-07-28'],
  ] as const)(
    'a %s stdio server is spoken to in the %s era #both-eras',
    async (era, spoken, version) => {
      const running = await box(faultyStdio({ era }));
      expect(textOf(await running.call('box', 'echo', { text: 'hi' }))).toBe('hi');
      expect(statusOf(running, 'box')).toMatchObject({ era: spoken, protocolVersion: version });
    },
  );

  it.each([
    ['legacy', 'json'],
    ['legacy', 'sse'],
    ['modern', 'json'],
    ['modern', 'sse'],
  ] as const)(
    'a %s HTTP server that answers with %s is spoken to in its era #both-eras',
    async (era, respond) => {
      const { url } = await remote({ era, respond });
      const running = await box({ url });
      expect(textOf(await running.call('box', 'echo', { text: 'hi' }))).toBe('hi');
      expect(statusOf(running, 'box')).toMatchObject({ era, transport: 'http' });
    },
  );

  it('a server of 2024 is reached over SSE, named as such or found out #both-eras', async () => {
    const { sseUrl } = await remote({ era: 'legacy', legacyVersion: '2024-11-05' });
    host = await hostWith({ named: { type: 'sse', url: sseUrl }, found: { url: sseUrl } });
    for (const name of ['named', 'found']) {
      expect(textOf(await host.call(name, 'echo', { text: name }))).toBe(name);
      expect(statusOf(host, name).protocolVersion).toBe('2024-11-05');
    }
  });

  it.each(['error', 'hang', 'garbage', 'exit'] as const)(
    'a legacy server that reacts to the probe with %s is usable, and is asked once only #both-eras',
    async (probe) => {
      const folder = await temporaryFolder();
      owned.push(folder);
      const starts = folder.file('starts');
      const running = await box({
        ...faultyStdio({ era: 'legacy', probe, starts }),
        keepAliveMs: 0,
      });
      expect(textOf(await running.call('box', 'echo', { text: 'hi' }))).toBe('hi');
      const first = probe === 'exit' ? 2 : 1;
      expect(readStarts(starts)).toHaveLength(first);
      await until(() => statusOf(running, 'box').state === 'idle', 'it has ended');
      await running.call('box', 'echo', { text: 'again' });
      expect(readStarts(starts)).toHaveLength(first + 1);
      expect(statusOf(running, 'box')).toMatchObject({ era: 'legacy', restarts: 0 });
    },
  );

  it('a server that prints before its first message is understood #both-eras #noise', async () => {
    const faults = [{ kind: 'garbage', form: 'text', when: 'at-discover' }] as const;
    const running = await box(faultyStdio({ era: 'legacy', faults }));
    expect(textOf(await running.call('box', 'echo', { text: 'hi' }))).toBe('hi');
  });

  it('progress and cancellation reach both eras on both transports #cancel #both-eras', async () => {
    const folder = await temporaryFolder();
    owned.push(folder);
    for (const era of ['legacy', 'modern'] as const) {
      const ledger = folder.file(`ledger-${era}`);
      const { url } = await remote({ era, ledger });
      const running = await hostWith({ pipe: faultyStdio({ era, ledger }), web: { url } });
      owned.push(running);
      for (const server of ['pipe', 'web']) {
        const seen: number[] = [];
        const onProgress = ({ progress }: { progress: number }) => seen.push(progress);
        await running.call(server, 'slow', { ms: 300, progressEvery: 50 }, { onProgress });
        expect(seen.length).toBeGreaterThan(1);
        const quiet = await inFlight(running, server);
        const giveUp = new AbortController();
        const nonce = `${server}-cancelled`;
        const call = running.call(server, 'slow', { ms: 60_000, nonce }, { signal: giveUp.signal });
        await until(() => received(ledger, nonce) === 1, 'the call has arrived');
        giveUp.abort();
        expect((await faultOf(call)).record).toMatchObject({ code: 'cancelled' });
        await until(
          async () => (await inFlight(running, server)) === quiet,
          `the ${era} server behind ${server} has dropped the call`,
        );
      }
    }
  });
});

describe('a remote server', () => {
  it('that ends its session is reconnected without anyone noticing #both-eras #true-dispatched', async () => {
    const folder = await temporaryFolder();
    owned.push(folder);
    const ledger = folder.file('ledger');
    const { url } = await remote({ era: 'legacy', ledger });
    const running = await box({ url });
    await running.call('box', 'echo', { text: 'up' });
    const fault = { kind: 'session-404', once: folder.file('forgot') };
    await running.call('box', 'add', { key: 'k', amount: 1, nonce: 'once', fault });
    expect(executions(ledger, 'once')).toBe(1);
    expect(statusOf(running, 'box').generation).toBe(2);
  });

  it.each([
    ['reset-before-effect', 'outcome_unknown', 'maybe', 0],
    ['reset-after-effect', 'outcome_unknown', 'maybe', 1],
    ['stream-end', 'outcome_unknown', 'maybe', 1],
    ['http-429', 'unavailable', 'no', 0],
    ['http-401', 'auth_required', 'no', 0],
    ['http-error', 'outcome_unknown', 'maybe', 0],
    ['redirect', 'protocol_violation', 'maybe', 0],
  ] as const)(
    'that answers a write with %s ends it as %s, dispatched %s #true-dispatched #never-twice',
    async (kind, code, dispatched, effects) => {
      const folder = await temporaryFolder();
      owned.push(folder);
      const ledger = folder.file('ledger');
      const { url } = await remote({ era: 'modern', ledger });
      const running = await box({ url });
      const fault = await faultOf(
        running.call('box', 'add', { key: 'k', amount: 1, nonce: 'n', fault: { kind } }),
      );
      expect(fault.record).toMatchObject({ code, dispatched, attempts: 1 });
      expect(executions(ledger, 'n')).toBe(effects);
    },
  );

  it.each(['reset-before-effect', 'reset-after-effect', 'stream-end', 'http-error'] as const)(
    'that answers a trusted read with %s is asked once more #read-survives',
    async (kind) => {
      const folder = await temporaryFolder();
      owned.push(folder);
      const { url } = await remote({ era: 'modern', ledger: folder.file('ledger') });
      const running = await box({ url, trusted: true });
      const fault = { kind, once: folder.file('failed') };
      await running.call('box', 'get', { key: 'k', nonce: 'r', fault });
      expect(received(folder.file('ledger'), 'r')).toBe(2);
    },
  );

  it('that cannot be reached says so, is never ejected, and recovers by itself #restart-budget', async () => {
    const first = await faultyHttp();
    const { port, url } = first;
    await first[Symbol.asyncDispose]();
    const running = await box({ url, circuit: { threshold: 100 } });
    for (let n = 0; n < 3; n += 1) {
      const fault = await faultOf(running.call('box', 'echo', { text: 'x' }));
      expect(fault.record).toMatchObject({
        code: 'unavailable',
        dispatched: 'no',
        retryable: true,
      });
    }
    expect(statusOf(running, 'box')).toMatchObject({ ejected: false, restartsLeft: null });
    await remote({ port });
    expect(textOf(await running.call('box', 'echo', { text: 'back' }))).toBe('back');
  });
});
