// Sessions of a principal whose access has ended: none of them begins again, however many requests look for it in the
// store at that moment, and while the store is still forgetting them.

import { describe, expect, it } from 'vitest';
import { FakeFront } from '../../../../test/support/fake-front.ts';
import { ManualClock, settled } from '../../../../test/support/manual-clock.ts';
import { Deadlines } from '../../../kernel/deadlines.ts';
import { cutBy, type Principal } from '../../../policy/principal.ts';
import { MemoryStore } from '../../../store/memory-store.ts';
import { scanMessage } from '../../../wire/scan.ts';
import { ClientSetup } from '../../clients/client-setup.ts';
import { OutgoingBudget } from '../../outgoing/outgoing-budget.ts';
import { defaultLimits } from '../http-limits.ts';
import { isStoredSession, KeptSessions } from './kept-sessions.ts';
import { Sessions } from './sessions.ts';

const ann = { id: 'token:ann', role: 'reader' };
const bob = { id: 'token:bob', role: 'reader' };
const docs = { kind: 'server', name: 'docs' } as const;

/** A table whose store answers when the test says so, with sessions that an earlier process had. */
async function table(owners: Readonly<Record<string, Principal>>) {
  const clock = new ManualClock();
  const store = new MemoryStore({ clock });
  const records = store.records('sessions', { durability: 'process', shape: isStoredSession });
  const setup = new ClientSetup();
  const params = { protocolVersion: '2025-11-25', capabilities: {} };
  const line = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
  setup.note(scanMessage(Buffer.from(line)));
  const waiting: (() => void)[] = [];
  let isSlow = false;
  const turn = () => (isSlow ? new Promise<void>((go) => waiting.push(go)) : Promise.resolve());
  const slow: typeof records = Object.assign(Object.create(records) as typeof records, {
    get: (key: string) => turn().then(() => records.get(key)),
    entries: (prefix?: string) => turn().then(() => records.entries(prefix)),
    put: (...put: Parameters<typeof records.put>) => records.put(...put),
    remove: (key: string) => records.remove(key),
  });
  const caught = (error: unknown) => {
    throw error;
  };
  const kept = new KeptSessions({ records: slow, clock, idleMs: 60_000, caught });
  for (const [id, owner] of Object.entries(owners)) await kept.keep(id, owner, setup);
  isSlow = true;
  const sessions = new Sessions(
    {
      front: new FakeFront(),
      clock,
      limits: defaultLimits,
      deadlines: new Deadlines(clock),
      outgoing: new OutgoingBudget(clock),
      report: () => {},
      inform: () => {},
    },
    kept,
  );
  const answer = async () => {
    for (let more = 0; more < 40; more += 1) {
      for (const go of waiting.splice(0)) go();
      await settled();
    }
  };
  const revoke = (who: Principal) => sessions.endAccess(new Set([who.id]));
  return { sessions, answer, revoke };
}

describe('a stored session whose principal was revoked', () => {
  it('does not begin again, whichever of the requests that wait for it is answered first #revoked', async () => {
    const { sessions, answer, revoke } = await table({ a: ann, b: bob });
    const requests = [ann, ann, ann].map((who) => sessions.find('a', who));
    const other = sessions.find('b', bob);
    revoke(ann);
    await answer();
    expect(await Promise.all(requests)).toEqual([undefined, undefined, undefined]);
    expect(await other).toMatchObject({ id: 'b', principal: bob });
    expect(sessions.size).toBe(1);
  });

  it('does not begin again for a request that comes while the store is forgetting it #revoked', async () => {
    const { sessions, answer, revoke } = await table({ a: ann });
    revoke(ann);
    const late = sessions.find('a', ann);
    await answer();
    expect(await late).toBeUndefined();
    const again = sessions.find('a', ann);
    await answer();
    expect(await again).toBeUndefined();
    expect(sessions.size).toBe(0);
  });

  it('does not begin again by a path that narrows #revoked', async () => {
    const narrow = cutBy(ann, docs);
    const { sessions, answer, revoke } = await table({ a: narrow });
    const requests = [sessions.find('a', narrow), sessions.find('a', narrow)];
    revoke(ann);
    await answer();
    expect(await Promise.all(requests)).toEqual([undefined, undefined]);
    expect(sessions.size).toBe(0);
  });

  it('stays the session of its owner when others ask for it meanwhile #revoked', async () => {
    const { sessions, answer, revoke } = await table({ a: ann });
    const [own, stranger, same] = [ann, bob, ann].map((who) => sessions.find('a', who));
    revoke(bob);
    await answer();
    expect(await stranger).toBeUndefined();
    expect(await own).toMatchObject({ id: 'a', principal: ann });
    expect(await same).toBe(await own);
  });
});
