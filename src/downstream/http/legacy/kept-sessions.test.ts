// Whose a stored session is, how long it lives, and what a store that fails costs. Real records in
// memory, manual clock.

import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../../test/support/manual-clock.ts';
import { until } from '../../../../test/support/until.ts';
import type { Records } from '../../../store/contract/records.ts';
import { MemoryStore } from '../../../store/memory-store.ts';
import { StoreError } from '../../../store/store-error.ts';
import { scanMessage } from '../../../wire/scan.ts';
import { ClientSetup } from '../../clients/client-setup.ts';
import { Elsewhere } from '../replicas/peers.ts';
import { isStoredSession, KeptSessions } from './kept-sessions.ts';

const idleMs = 1_000;
const ann = { id: 'token:ann', role: 'reader' };
const bob = { id: 'token:bob', role: 'reader' };

function setupOf(...requests: readonly (readonly [string, object])[]): ClientSetup {
  const setup = new ClientSetup();
  for (const [method, params] of [['initialize', { protocolVersion: '2025-11-25' }], ...requests]) {
    const line = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    setup.note(scanMessage(Buffer.from(line)));
  }
  return setup;
}

function keptSessions(records?: Records) {
  const clock = new ManualClock();
  const store = new MemoryStore({ clock });
  const stored = store.records('sessions', { durability: 'process', shape: isStoredSession });
  const errors: unknown[] = [];
  const caught = (error: unknown) => void errors.push(error);
  const kept = new KeptSessions({ records: records ?? stored, clock, idleMs, caught });
  return { kept, clock, stored, errors };
}

describe('a stored session', () => {
  it('has what its client has said, under a hash of its id #kept-sessions', async () => {
    const { kept, stored } = keptSessions();
    const watching = { uri: 'note:///1', _meta: { a: 1 } };
    const setup = setupOf(
      ['logging/setLevel', { level: 'error' }],
      ['resources/subscribe', watching],
      ['resources/subscribe', { uri: 'note:///2' }],
      ['resources/unsubscribe', { uri: 'note:///2' }],
    );
    await kept.keep('secret-id', ann, setup);
    const found = await kept.find('secret-id', ann);
    if (!(found instanceof ClientSetup)) throw new Error('it was not read');
    expect(found.texts).toEqual(setup.texts);
    expect(found.later).toEqual([
      { method: 'logging/setLevel', params: '{"level":"error"}' },
      { method: 'resources/subscribe', params: JSON.stringify(watching), uri: 'note:///1' },
    ]);
    expect(JSON.stringify(await stored.entries())).not.toContain('secret-id');
  });

  it("is its holder's alone, and does not outlive a change of role #kept-sessions", async () => {
    const { kept } = keptSessions();
    await kept.keep('a', ann, setupOf());
    expect(await kept.find('a', bob)).toBeUndefined();
    expect(await kept.find('a', ann)).toBeDefined();
    expect(await kept.find('a', { ...ann, role: 'writer' })).toBeUndefined();
    expect(await kept.find('a', ann)).toBeUndefined();
  });

  it('is gone with its idle time, its end, or the access of its holder #kept-sessions', async () => {
    const { kept, clock } = keptSessions();
    for (const id of ['a', 'b']) await kept.keep(id, ann, setupOf());
    await kept.keep('c', bob, setupOf());
    await kept.forget('a');
    expect(await kept.find('a', ann)).toBeUndefined();
    const underPath = { ...bob, id: `${bob.id}/server/docs` };
    await kept.keep('d', underPath, setupOf());
    await kept.forgetAllBut([bob]);
    expect(await kept.find('b', ann)).toBeUndefined();
    expect(await kept.find('c', bob)).toBeDefined();
    expect(await kept.find('d', underPath)).toBeDefined();
    await kept.forgetOf(new Set([ann.id]));
    expect(await kept.find('d', underPath)).toBeDefined();
    await kept.forgetOf(new Set([bob.id]));
    expect(await kept.find('d', underPath)).toBeUndefined();
    await kept.keep('c', bob, setupOf());
    clock.advance(2 * idleMs);
    expect(await kept.find('c', bob)).toBeUndefined();
  });

  it('holds all that its client may say, and no more is accepted #kept-sessions', async () => {
    const { kept } = keptSessions();
    const subscribing = (uri: string) =>
      scanMessage(
        Buffer.from(
          JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'resources/subscribe', params: { uri } }),
        ),
      );
    const long = 'n'.repeat(65_536 - '{"uri":""}'.length);
    expect(new ClientSetup().refusal(subscribing(long))).toBeUndefined();
    expect(new ClientSetup().refusal(subscribing(`${long}n`))).toContain('65537 bytes');
    // Every character of them takes two in JSON.
    const setup = new ClientSetup();
    const first = { protocolVersion: '2025-11-25', x: '"'.repeat(32_000) };
    const initialize = { jsonrpc: '2.0', id: 1, method: 'initialize', params: first };
    setup.note(scanMessage(Buffer.from(JSON.stringify(initialize))));
    const uris = Array.from({ length: 1_000 }, (_, at) => `${at}${'"'.repeat(120)}`);
    for (const uri of uris) {
      expect(setup.refusal(subscribing(uri))).toBeUndefined();
      setup.note(subscribing(uri));
    }
    expect(setup.refusal(subscribing('n'.repeat(65_000)))).toContain('262144 bytes together');
    expect(setup.refusal(subscribing(uris[0] ?? ''))).toBeUndefined();
    await kept.keep('a', ann, setup);
    const found = await kept.find('a', ann);
    if (!(found instanceof ClientSetup)) throw new Error('it was not read');
    expect(found.texts).toEqual(setup.texts);
  });
});

describe('a store that fails', () => {
  const failing = (error: Error) =>
    new Proxy({} as Records, { get: () => () => Promise.reject(error) });

  it('costs nobody a request of a session that runs: nothing is stored, and what is asked for cannot be said #kept-sessions', async () => {
    const { kept, errors } = keptSessions(failing(new StoreError('not_kept', 'the disk is full')));
    await kept.keep('a', ann, setupOf());
    expect(await kept.find('a', ann)).toBe('unavailable');
    await kept.forget('a');
    await kept.forgetAllBut([]);
    expect(errors).toEqual([]);
  });

  it('unexpectedly is reported', async () => {
    const error = new TypeError('a defect');
    const { kept, errors } = keptSessions(failing(error));
    await kept.keep('a', ann, setupOf());
    expect(await kept.find('a', ann)).toBe('unavailable');
    expect(errors).toEqual([error, error]);
  });

  it('by being slow does not hold up the answer for long', async () => {
    const never = new Proxy({} as Records, { get: () => () => new Promise(() => {}) });
    const { kept, clock } = keptSessions(never);
    const first = kept.keep('a', ann, setupOf());
    clock.advance(2_000);
    await expect(first).resolves.toBeUndefined();
    const keeping = kept.keep('a', ann, setupOf());
    clock.advance(250);
    await expect(keeping).resolves.toBeUndefined();
    const finding = kept.find('a', ann);
    clock.advance(5_000);
    await expect(finding).resolves.toBe('unavailable');
  });

  it('by being slow says late that another replica has the session by now #replicas', async () => {
    const { stored, clock, errors } = keptSessions();
    const caught = (error: unknown) => void errors.push(error);
    const of = (replica: string) =>
      new KeptSessions({ records: stored, clock, idleMs: 60_000, caught, replica });
    const [one, other] = [of('one'), of('other')];
    const setup = setupOf();
    await one.keep('a', ann, setup);
    await other.takeOver('a', ann, new Elsewhere('one'));
    const compareAndSet = stored.compareAndSet.bind(stored);
    let go = () => {};
    const slow = new Promise<void>((resolve) => {
      go = resolve;
    });
    const slowly: typeof compareAndSet = async (...args) => {
      await slow;
      return await compareAndSet(...args);
    };
    Object.assign(stored, { compareAndSet: slowly });
    let isLost = false;
    const keeping = one.keep('a', ann, setup, () => {
      isLost = true;
    });
    clock.advance(5_000);
    await keeping;
    expect(isLost).toBe(false);
    go();
    await until(() => isLost, 'it to be said');
  });
});

describe('a session of one of several replicas', () => {
  function replica(name: string, idleMs = 60_000) {
    const { stored, clock, errors } = keptSessions();
    const caught = (error: unknown) => void errors.push(error);
    const kept = new KeptSessions({ records: stored, clock, idleMs, caught, replica: name });
    const lost: string[] = [];
    const keep = (setup: ClientSetup) => kept.keep('a', ann, setup, () => lost.push('lost'));
    return { kept, keep, lost, stored, clock };
  }

  it('is stored before its client hears of it, and no longer waited for than is bearable #replicas', async () => {
    const { keep, kept, stored, clock } = replica('one');
    const putIfAbsent = stored.putIfAbsent.bind(stored);
    let go = () => {};
    const slow = new Promise<void>((resolve) => {
      go = resolve;
    });
    const slowly: typeof putIfAbsent = async (...args) => {
      await slow;
      return await putIfAbsent(...args);
    };
    Object.assign(stored, { putIfAbsent: slowly });
    const tooLong = keep(setupOf());
    clock.advance(5_000);
    await tooLong;
    let isKept = false;
    const keeping = keep(setupOf()).then(() => {
      isKept = true;
    });
    clock.advance(2_000);
    for (let turn = 0; turn < 4; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(isKept).toBe(false);
    go();
    await keeping;
    expect(await kept.find('a', ann)).toBeInstanceOf(ClientSetup);
  });

  it('is stored again if it was in use for longer than its record could be renewed #replicas', async () => {
    const { keep, kept, lost, clock } = replica('one', idleMs);
    const setup = setupOf();
    await keep(setup);
    clock.advance(1.5 * idleMs);
    expect(await kept.find('a', ann)).toBeUndefined();
    expect(await kept.look('a', ann, setup)).toBe('ours');
    expect(await kept.find('a', ann)).toBeInstanceOf(ClientSetup);
    clock.advance(1.5 * idleMs);
    await keep(setup);
    expect(await kept.find('a', ann)).toBeInstanceOf(ClientSetup);
    expect(lost).toEqual([]);
  });

  it('has ended if its record was removed before that #replicas', async () => {
    const { keep, kept, lost, clock } = replica('one', idleMs);
    const setup = setupOf();
    await keep(setup);
    clock.advance(idleMs);
    await kept.forget('a');
    expect(await kept.look('a', ann, setup)).toBeUndefined();
    await keep(setup);
    expect(lost).toEqual(['lost']);
  });
});
