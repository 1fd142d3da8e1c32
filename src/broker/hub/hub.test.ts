// The hub without sockets: seats, credentials that change, limits, and a disk that refuses. Members with a peer
// that records; a store in memory, or one that refuses.

import { describe, expect, it } from 'vitest';
import { manualClock, settled } from '../../../test/support/manual-clock.ts';
import type { Log } from '../../store/contract/log.ts';
import { MemoryStore } from '../../store/memory-store.ts';
import { StoreError } from '../../store/store-error.ts';
import type { BrokerError } from '../broker-error.ts';
import type { Letter } from '../contract.ts';
import type { Identity } from '../identity.ts';
import { storeAwayMs } from '../store-claim.ts';
import { Hub } from './hub.ts';
import type { HubLimits } from './limits.ts';
import type { Handed, Member, Peer } from './member.ts';
import { momentMs } from './write-pace.ts';

const never = { expiresAt: null } as const;
const boss: Identity = { mailbox: 'boss', kind: 'orchestrator', role: null, to: [], ...never };
const ann: Identity = { mailbox: 'ann.mcp', kind: 'worker', role: 'r', to: ['boss'], ...never };
const bob: Identity = { ...ann, mailbox: 'bob.mcp' };

class RecordingPeer implements Peer {
  readonly handed: Handed[] = [];
  ended: BrokerError | undefined;
  backlogBytes = 0;

  hand(letter: Handed): void {
    this.handed.push(letter);
  }

  passed: (() => void) | undefined;

  mark(passed: () => void): void {
    this.passed = passed;
  }

  end(why: BrokerError): void {
    this.ended = why;
  }

  get ids(): readonly string[] {
    return this.handed.map(({ id }) => id);
  }
}

interface Joined {
  readonly member: Member;
  readonly peer: RecordingPeer;
}

async function hubWith(limits: Partial<HubLimits> = {}, wrapped: (log: Log) => Log = (log) => log) {
  const clock = manualClock();
  const store = new MemoryStore({ clock, claims: 'durable' });
  const owners = new Map([boss, ann, bob].map((one) => [one.mailbox, one]));
  const aside = store.log('aside', { durability: 'durable' });
  const reports: string[] = [];
  const open = (areAllKnown = () => true) =>
    Hub.open({
      areAllKnown,
      clock,
      letters: wrapped(store.log('letters', { durability: 'durable' })),
      aside,
      stores: store.records('stores', { durability: 'durable' }),
      ownerOf: (mailbox) => owners.get(mailbox),
      report: (text) => reports.push(text),
      limits,
    });
  const hub = await open();
  const join = (identity: Identity, seat = 'seat', kinds: readonly string[] = []): Joined => {
    const peer = new RecordingPeer();
    const member = hub.join(identity, seat, peer);
    for (const kind of kinds) member.receive(kind);
    return { member, peer };
  };
  return { hub, join, owners, clock, open, aside };
}

let ids = 0;
function letter(to: string, more: Partial<Letter> = {}): Letter {
  ids += 1;
  return { id: `id-${ids}`, to, kind: 'note', body: Buffer.from('text'), ...more };
}

describe('a link that takes the seat of the only link of a mailbox', () => {
  it('is a member as the other was: present, told, and ended with its credential #broker-lease', async () => {
    const { hub, join, owners } = await hubWith();
    const { member } = join(boss);
    const older = join(ann, 'window', ['note']);
    const newer = join(ann, 'window', ['note']);
    expect(older.peer.ended?.reason).toBe('replaced');
    expect(member.present()).toEqual(['ann.mcp']);
    member.tell(letter('ann.mcp', { id: 'told' }));
    expect(newer.peer.ids).toEqual(['told']);
    expect(hub.figures.members).toBe(2);
    owners.delete('ann.mcp');
    hub.credentialsChanged();
    expect(newer.peer.ended?.reason).toBe('unauthorized');
  });

  it('gives back what it has not acknowledged when it leaves', async () => {
    const { join } = await hubWith();
    const { member } = join(boss);
    join(ann, 'window', ['note']);
    const newer = join(ann, 'window', ['note']);
    await member.deliver(letter('ann.mcp', { id: 'kept' }));
    newer.member.left();
    expect(join(ann, 'other', ['note']).peer.ids).toEqual(['kept']);
  });
});

describe('a credential that is revoked between the request for a link and its hello', () => {
  it('makes no member #revoked', async () => {
    const { hub, join, owners } = await hubWith();
    owners.set('ann.mcp', { ...ann });
    hub.credentialsChanged();
    expect(() => join(ann)).toThrow(expect.objectContaining({ reason: 'unauthorized' }));
    expect(hub.figures.members).toBe(0);
  });
});

describe('a broker that starts while credentials cannot be read', () => {
  async function restarted() {
    const { hub, join, owners, open } = await hubWith();
    await join(boss).member.deliver(letter('ann.mcp', { id: 'answer' }));
    await join(ann).member.deliver(letter('boss', { id: 'asked' }));
    await hub.close();
    owners.delete('ann.mcp');
    let areAllKnown = false;
    const next = await open(() => areAllKnown);
    const peer = new RecordingPeer();
    const member = next.join(boss, 'seat', peer);
    member.receive('note');
    const known = () => {
      areAllKnown = true;
      next.credentialsKnown();
    };
    return { next, owners, peer, member, known };
  }

  it('keeps the letters of workers that are not known, and hands them out when their credentials were read #broker-durable', async () => {
    const { next, owners, peer, known } = await restarted();
    next.credentialsChanged();
    expect([next.figures.letters, peer.ids]).toEqual([2, []]);
    owners.set('ann.mcp', ann);
    known();
    expect([next.figures.letters, peer.ids]).toEqual([2, ['asked']]);
    const reader = new RecordingPeer();
    next.join(ann, 'seat', reader).receive('note');
    expect(reader.ids).toEqual(['answer']);
  });

  it('withdraws those of a worker whose credential is not there when all were read #revoked', async () => {
    const { next, peer, known } = await restarted();
    known();
    expect([next.figures.letters, peer.ids]).toEqual([0, []]);
  });

  it('does not say that a worker may not be written to whose credential cannot be read now #revoked', async () => {
    const { member, known } = await restarted();
    expect(() => member.tell(letter('ann.mcp'))).toThrow(
      expect.objectContaining({ reason: 'absent' }),
    );
    known();
    expect(() => member.tell(letter('ann.mcp'))).toThrow(
      expect.objectContaining({ reason: 'not_allowed' }),
    );
  });
});

describe('a credential that is revoked, and made again with the same name', () => {
  const [before, after]: readonly Identity[] = [
    { ...ann, id: 'first', role: 'strong' },
    { ...ann, id: 'second', role: 'weak' },
  ];

  async function withOld() {
    const hub = await hubWith();
    hub.owners.set('ann.mcp', before ?? ann);
    const { member } = hub.join(before ?? ann);
    for (const id of ['one', 'two']) await member.deliver(letter('boss', { id }));
    return hub;
  }

  it('has nothing run that the earlier one asked for and nobody had begun with #revoked', async () => {
    const { hub, join, owners, clock } = await withOld();
    owners.set('ann.mcp', after ?? ann);
    hub.credentialsChanged();
    expect(hub.figures.letters).toBe(0);
    const kept = join(after ?? ann).member.deliver(letter('boss', { id: 'new' }));
    await clock.advanceAsync(momentMs);
    await kept;
    expect(join(boss, 'seat', ['note']).peer.ids).toEqual(['new']);
  });

  it('is told nothing that was meant for the earlier one #revoked', async () => {
    const { hub, join, owners } = await withOld();
    owners.set('ann.mcp', after ?? ann);
    hub.credentialsChanged();
    const reader = join(after ?? ann, 'seat', ['note']);
    const { member } = join(boss);
    const tell = (credential: string | undefined) =>
      member.tell(letter('ann.mcp', { id: `of ${credential}`, credential }));
    expect(() => tell('first')).toThrow(expect.objectContaining({ reason: 'not_allowed' }));
    tell('second');
    tell(undefined);
    expect(reader.peer.ids).toEqual(['of second', 'of undefined']);
  });

  it('the same over a restart of the broker #revoked', async () => {
    const { owners, open } = await withOld();
    expect((await open()).figures.letters).toBe(2);
    owners.set('ann.mcp', after ?? ann);
    expect((await open()).figures.letters).toBe(0);
  });

  it('has nothing handed to a second reader that the first had of the earlier one #revoked', async () => {
    const { hub, join, owners } = await withOld();
    const first = join(boss, 'first', ['note']);
    expect(first.peer.ids).toEqual(['one', 'two']);
    owners.set('ann.mcp', after ?? ann);
    hub.credentialsChanged();
    const second = join(boss, 'second', ['note']);
    first.member.left();
    expect(second.peer.ids).toEqual([]);
    expect(hub.figures.letters).toBe(0);
  });
});

describe('a letter of a worker', () => {
  it('is kept for no single seat of an orchestrator: nobody might ever read it #principal-share', async () => {
    const { hub, join } = await hubWith();
    join(boss, 'one', ['note']);
    const { member } = join(ann);
    const toOne = member.deliver(letter('boss', { seat: 'one' }));
    await expect(toOne).rejects.toMatchObject({ reason: 'not_allowed' });
    member.tell(letter('boss', { seat: 'one' }));
    await join(boss, 'two').member.deliver(letter('ann.mcp', { seat: 'none' }));
    expect(hub.figures.letters).toBe(1);
  });

  it.each([undefined, 2 ** 41])(
    'that nobody reads is kept for a week, whatever it says (%s) #no-growth',
    async (ttlMs) => {
      const { hub, join, clock } = await hubWith();
      await join(ann).member.deliver(letter('boss', { ttlMs }));
      await join(boss).member.deliver(letter('ann.mcp', { ttlMs }));
      await clock.advanceAsync(7 * 24 * 3_600_000 + 5_000);
      expect(hub.figures).toMatchObject({ letters: 1, expired: 1 });
    },
  );
});

describe('a letter that is kept', () => {
  it('does not keep in memory what was read from the socket with it #no-growth', async () => {
    const { join } = await hubWith();
    const { member } = join(boss);
    const read = Buffer.alloc(65_536, 'x');
    await member.deliver(letter('ann.mcp', { body: read.subarray(100, 110) }));
    const [handed] = join(ann, 'window', ['note']).peer.handed;
    expect(handed?.body.toString()).toBe('xxxxxxxxxx');
    expect(handed?.body.buffer.byteLength).toBe(10);
  });

  it('is on the disk also if it is put aside before it was written, until it is there #broker-durable', async () => {
    const { join, open, aside } = await hubWith();
    const never: Promise<number> = new Promise(() => {});
    aside.append = () => never;
    const { member } = join(boss);
    const reader = join(ann, 'window', ['note']);
    const kept = member.deliver(letter('ann.mcp', { id: 'kept' }));
    reader.member.setAside(reader.peer.handed[0]?.number ?? 0, 'it is none');
    await kept;
    expect((await open()).figures.letters).toBe(1);
  });
});

describe('a reader that does not read', () => {
  it('holds a limited number of letters, and they end by their own time when its link has ended #no-growth', async () => {
    const { hub, join, clock } = await hubWith({ windowLetters: 4 });
    const { member } = join(boss);
    const stuck = join(ann, 'window', ['note']);
    const well = join(bob, 'window', ['note']);
    for (let sent = 0; sent < 10; sent += 1) {
      await member.deliver(letter('ann.mcp', { seat: 'window', ttlMs: 60_000 }));
    }
    await member.deliver(letter('bob.mcp', { id: 'for bob' }));
    expect([stuck.peer.handed.length, well.peer.ids]).toEqual([4, ['for bob']]);
    well.member.acknowledge(well.peer.handed[0]?.number ?? 0);
    stuck.member.left();
    clock.advance(65_000);
    await settled();
    expect(hub.figures).toMatchObject({ letters: 0, bytes: 0, expired: 10 });
  });
});

describe('the limits of a hub', () => {
  it.each([{ maxToldLetters: 4 }, { maxToldBytes: 2_064 }])(
    'are so many told letters of one worker that a reader has not read (%j) #principal-share',
    async (limits) => {
      const { join } = await hubWith(limits);
      const reader = join(boss, 'seat', ['note']);
      const [anns, other, bobs] = [join(ann, 'one'), join(ann, 'two'), join(bob)];
      const tell = ({ member }: Joined) => member.tell(letter('boss'));
      for (let at = 0; at < 4; at += 1) tell(at % 2 === 0 ? anns : other);
      for (const one of [anns, other]) {
        expect(() => tell(one)).toThrow(expect.objectContaining({ reason: 'full' }));
      }
      tell(bobs);
      // It has read what came before the mark: two of hers.
      reader.peer.passed?.();
      tell(anns);
      tell(other);
      expect(() => tell(anns)).toThrow(expect.objectContaining({ reason: 'full' }));
      expect(reader.peer.handed).toHaveLength(7);
    },
  );

  it('are so many links of one mailbox, and one that is replaced is none more #no-growth', async () => {
    const { join } = await hubWith({ maxSeats: 2 });
    join(ann, 'one');
    join(ann, 'two');
    expect(() => join(ann, 'three')).toThrow(expect.objectContaining({ reason: 'full' }));
    join(ann, 'two');
    join(bob, 'one');
  });

  it('are so many kinds of mail, and those that a mailbox reads are not among them #broker-kinds', async () => {
    const { join } = await hubWith({ maxKinds: 3 });
    const worker = join(ann).member;
    const send = (kind: string) => worker.deliver(letter('boss', { kind }));
    for (const kind of ['a', 'b', 'c']) await send(kind);
    await expect(send('d')).rejects.toMatchObject({ reason: 'full' });
    const reader = join(boss, 'seat', ['call', 'cancel']);
    await send('call');
    expect(reader.peer.handed.map(({ kind }) => kind)).toEqual(['call']);
    // Also while it is away.
    reader.member.left();
    await send('cancel');
    await expect(send('d')).rejects.toMatchObject({ reason: 'full' });
    const again = join(boss, 'seat', ['call', 'cancel', 'a']);
    expect(again.peer.handed).toHaveLength(3);
    for (const kind of ['more', 'b']) {
      expect(() => again.member.receive(kind)).toThrow(expect.objectContaining({ reason: 'full' }));
    }
  });

  it('are a share for each worker: one that fills its own takes nothing from others', async () => {
    const { join } = await hubWith({ maxWorkerLetters: 2 });
    const [first, second] = [join(ann).member, join(bob).member];
    await first.deliver(letter('boss'));
    await first.deliver(letter('boss', { kind: 'other' }));
    await expect(first.deliver(letter('boss'))).rejects.toMatchObject({ reason: 'full' });
    await second.deliver(letter('boss'));
    const reader = join(boss, 'seat', ['note']);
    const [one] = reader.peer.handed;
    reader.member.acknowledge(one?.number ?? 0);
    await first.deliver(letter('boss'));
  });

  it('count a letter without a body, too', async () => {
    const { join } = await hubWith({ maxTotalBytes: 2_000 });
    const { member } = join(boss);
    const empty = () => member.deliver(letter('ann.mcp', { body: Buffer.alloc(0) }));
    for (let sent = 0; sent < 3; sent += 1) await empty();
    await expect(empty()).rejects.toMatchObject({ reason: 'full' });
  });

  it('do not keep out what was taken before a restart', async () => {
    const { join, open } = await hubWith({ maxKinds: 2 });
    const { member } = join(ann);
    join(boss, 'seat', ['x', 'y']).member.left();
    for (const kind of ['a', 'b', 'x', 'y']) await member.deliver(letter('boss', { kind }));
    expect((await open()).figures.letters).toBe(4);
  });

  it('are a thousand letters that were put aside', async () => {
    const { join, aside, clock } = await hubWith();
    const { member } = join(boss);
    const reader = join(ann, 'seat', ['note']);
    for (let sent = 0; sent < 1_003; sent += 1) {
      const kept = member.deliver(letter('ann.mcp'));
      await clock.advanceAsync(momentMs);
      await kept;
      reader.member.setAside(reader.peer.handed.at(-1)?.number ?? 0, 'unreadable');
    }
    await settled();
    const { first, next } = await aside.range();
    expect(next - first).toBe(1_000);
  });
});

describe('a letter that the disk has no room for', () => {
  const full = (log: Log): Log => ({
    append: () => Promise.reject(new StoreError('full', 'the disk is full')),
    read: (options) => log.read(options),
    trim: (before) => log.trim(before),
    range: () => log.range(),
  });

  it.each([
    ['nobody had', 'full', false, false],
    ['a reader has', 'not_kept', true, false],
    ['a reader had and has given back', 'not_kept', true, true],
  ])('and that %s is refused as %s #true-dispatched', async (_, reason, isRead, hasLeft) => {
    const { hub, join } = await hubWith({}, full);
    const reader = isRead ? join(ann, 'seat', ['note']) : undefined;
    const kept = join(boss).member.deliver(letter('ann.mcp'));
    if (hasLeft) reader?.member.left();
    await expect(kept).rejects.toMatchObject({ reason });
    expect(hub.figures.letters).toBe(isRead && !hasLeft ? 1 : 0);
  });
});

describe('a letter that the disk has refused', () => {
  it('and that its reader has, is written when it is sent again #broker-durable', async () => {
    let isRefusing = true;
    const refusing = (log: Log): Log => ({
      append: (value) =>
        isRefusing
          ? Promise.reject(new StoreError('not_kept', 'the disk refuses'))
          : log.append(value),
      read: (options) => log.read(options),
      trim: (before) => log.trim(before),
      range: () => log.range(),
    });
    const { join, open } = await hubWith({}, refusing);
    const { member } = join(boss);
    const reader = join(ann, 'seat', ['note']);
    const once = letter('ann.mcp');
    await expect(member.deliver(once)).rejects.toMatchObject({ reason: 'not_kept' });
    isRefusing = false;
    await member.deliver(once);
    expect(reader.peer.ids).toEqual([once.id]);
    expect((await open()).figures.letters).toBe(1);
  });
});

describe('a hub that closes', () => {
  it('confirms what it has taken, takes nothing more, and ends every link #broker-durable', async () => {
    const { hub, join, open } = await hubWith();
    const { member, peer } = join(boss);
    const taken = member.deliver(letter('ann.mcp'));
    const closed = hub.close();
    await expect(member.deliver(letter('ann.mcp'))).rejects.toMatchObject({ reason: 'lost' });
    expect(peer.ended).toBeUndefined();
    await taken;
    await closed;
    expect(peer.ended?.reason).toBe('lost');
    expect(() => join(ann)).toThrow(expect.objectContaining({ reason: 'lost' }));
    expect((await open()).figures.letters).toBe(1);
  });
});

describe('a link that remembers calls in another store than the others of its mailbox', () => {
  it('is refused while one of them is there, and for a while after; also by the next process of the broker #broker-once', async () => {
    const { hub, open, clock } = await hubWith();
    const join = (at: Hub, seat: string, store?: string) =>
      at.join(boss, seat, new RecordingPeer(), store);
    const first = join(hub, 'a', 'one');
    const same = join(hub, 'b', 'one');
    const other = { reason: 'other_store', isPermanent: true };
    const refused = (at: Hub, seat: string) =>
      expect(() => join(at, seat, 'two')).toThrow(expect.objectContaining(other));
    // Also in the seat of another one.
    refused(hub, 'c');
    refused(hub, 'a');
    // One that remembers nothing only looks.
    join(hub, 'd').left();
    same.left();
    first.left();
    clock.advance(storeAwayMs - 1);
    refused(hub, 'c');
    await settled();
    const next = await open();
    refused(next, 'c');
    clock.advance(storeAwayMs);
    join(next, 'c', 'two');
    expect(() => join(next, 'a', 'one')).toThrow(expect.objectContaining(other));
  });
});
