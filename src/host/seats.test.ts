import { describe, expect, it } from 'vitest';
import { FakeUpstream } from '../../test/support/fake-upstream.ts';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { localUser, type Principal } from '../policy/principal.ts';
import type { Supervisor } from '../supervise/supervisor.ts';
import type { Connection } from '../upstream/connection.ts';
import type { Era } from '../wire/eras.ts';
import type { Caller } from './caller.ts';
import { bareClass, everyClass } from './client-class.ts';
import { Patience } from './patience.ts';
import { type Aim, Seat } from './seat.ts';
import { Seats } from './seats.ts';
import type { Facts } from './server-facts.ts';

function newCaller(
  key: string,
  more: Partial<Caller['client']> = {},
  principal: Principal = localUser,
): Caller {
  const client = { key, isAskedInCalls: false, ...more } as Caller['client'];
  return { principal, client, capabilities: '{}', logLevel: undefined };
}

/** As much of a supervisor as a seat looks at. */
class FakeSupervisor {
  connection: Connection | undefined;
  isEnded = false;
  phase = { kind: 'idle' };
  readonly leases = { isWanted: false, isPinned: false, pin: (on: boolean) => this.#pin(on) };

  #pin(isPinned: boolean): void {
    this.leases.isPinned = isPinned;
    this.leases.isWanted = isPinned;
  }

  connect(era: Era): Connection {
    const connection = new FakeUpstream(era);
    this.connection = connection;
    this.phase = { kind: 'ready' };
    return connection;
  }

  evict(): void {
    if (this.leases.isWanted) return;
    this.connection = undefined;
    this.phase = { kind: 'idle' };
  }

  async end(): Promise<void> {
    this.isEnded = true;
  }
}

const patience = () => new Patience(new ManualClock(), 1, 1, { expired() {}, progressed() {} });
const anyAim: Aim = { era: 'modern', clients: bareClass };

function newSeat(owner: string | null = null, aim: Aim = anyAim) {
  const supervisor = new FakeSupervisor();
  const seat = new Seat(
    owner,
    aim,
    new ManualClock(),
    () => supervisor as unknown as Supervisor<Connection>,
  );
  const use = (connection: Connection, caller: Caller | undefined) =>
    seat.use(connection, caller, patience());
  return { seat, supervisor, use };
}

function newSeats(isolation: 'auto' | 'shared' | 'client', facts: Facts = {}) {
  const made: FakeSupervisor[] = [];
  let known = facts;
  const seats = new Seats({
    isolation,
    hasClients: true,
    facts: () => known,
    make: (owner, aim) => {
      const { seat, supervisor } = newSeat(owner, aim);
      made.push(supervisor);
      return seat;
    },
  });
  /** Its connection is made, in this era. */
  const connect = (seat: Seat, era: Era = seat.aim.era) => {
    seat.aim = { ...seat.aim, era };
    const connection = (seat.supervisor as unknown as FakeSupervisor).connect(era);
    seats.connected(seat);
    return connection;
  };
  const learn = (more: Facts) => {
    known = { ...known, ...more };
    seats.changed();
  };
  const running = () => [...seats.all()].filter(({ supervisor }) => supervisor.connection);
  return { seats, made, connect, learn, running };
}

const declared = {
  nothing: '{}',
  roots: '{"roots":{"listChanged":true}}',
  more: '{"roots":{},"sampling":{}}',
  forms: '{"elicitation":{}}',
};

function withCapabilities(key: string, capabilities: string, isAskedInCalls = false): Caller {
  return { ...newCaller(key, { isAskedInCalls }), capabilities };
}

describe('a connection in its seat', () => {
  it('belongs to the one client that has ever used it', () => {
    const { seat, use } = newSeat();
    const connection = new FakeUpstream();
    const [ann, bob] = [newCaller('ann'), newCaller('bob')];
    expect(seat.onlyClientOf(connection)).toBeUndefined();
    expect([use(connection, ann), use(connection, newCaller('ann'))]).toEqual([true, false]);
    seat.leave(ann);
    expect(seat.onlyClientOf(connection)?.key).toBe('ann');
    expect(use(connection, bob)).toBe(false);
    seat.leave(bob);
    expect(seat.onlyClientOf(connection)).toBeUndefined();
  });

  it('belongs to nobody once somebody has used it who cannot be asked', () => {
    const { seat, use } = newSeat();
    const connection = new FakeUpstream();
    use(connection, undefined);
    expect(use(connection, newCaller('ann'))).toBe(false);
    expect(seat.onlyClientOf(connection)).toBeUndefined();
  });

  it('that is new has no past, and the old one has no owner any more', () => {
    const { seat, use } = newSeat();
    const [old, young] = [new FakeUpstream(), new FakeUpstream()];
    use(old, newCaller('ann'));
    use(old, newCaller('bob'));
    expect(use(young, newCaller('eve'))).toBe(true);
    expect(seat.onlyClientOf(young)?.key).toBe('eve');
    expect(seat.onlyClientOf(old)).toBeUndefined();
  });

  it('is one person’s as long as all who used it are the same', () => {
    const { seat, use } = newSeat();
    const connection = new FakeUpstream();
    use(connection, newCaller('one'));
    use(connection, newCaller('two'));
    expect(seat.isOnePersons(connection)).toBe(true);
    use(connection, newCaller('three', {}, { id: 'token:x', role: null }));
    expect(seat.isOnePersons(connection)).toBe(false);
  });

  it('that has ended is forgotten, with the client that used it #no-growth', () => {
    const { seat, use } = newSeat();
    const [old, young] = [new FakeUpstream(), new FakeUpstream()];
    use(old, newCaller('ann'));
    seat.ended(old);
    expect([seat.isUnused(old), seat.onlyClientOf(old)]).toEqual([true, undefined]);
    expect(seat.onlyClientOf(undefined)).toBeUndefined();
    // The end of the one before says nothing about the one that is there.
    use(young, newCaller('bob'));
    seat.ended(old);
    expect([seat.isUnused(young), seat.onlyClientOf(young)?.key]).toEqual([false, 'bob']);
  });

  it('knows the calls it carries, each until it leaves', () => {
    const { seat, use } = newSeat();
    const connection = new FakeUpstream();
    const [one, two] = [newCaller('ann'), newCaller('ann')];
    for (const caller of [one, two]) seat.enter(caller);
    use(connection, one);
    // The other only waits: nothing that is said now can be about it.
    expect([seat.inFlight, seat.onlyCaller]).toEqual([2, one]);
    use(connection, two);
    expect([seat.onlyCaller, seat.oldestCaller(two.client)]).toEqual([undefined, one]);
    seat.leave(one);
    seat.leave(one);
    expect([seat.inFlight, seat.onlyCaller]).toEqual([1, two]);
  });
});

describe('a server that speaks both eras', () => {
  it('is spoken to in the era of the client that asks, on one connection for each era #eras', () => {
    const { seats, connect, running } = newSeats('auto');
    const old = seats.for(withCapabilities('old', declared.nothing));
    expect(old.aim.era).toBe('legacy');
    connect(old);
    const young = seats.for(withCapabilities('young', declared.more, true));
    expect([young.aim.era, young === old]).toEqual(['modern', false]);
    connect(young);
    expect(seats.for(withCapabilities('other', declared.roots, true))).toBe(young);
    expect(seats.for(withCapabilities('old', declared.nothing))).toBe(old);
    expect(running()).toEqual([old, young]);
  });

  it('is not started twice while it turns out that it speaks the other era alone', () => {
    const { seats, learn, made } = newSeats('auto');
    const young = withCapabilities('young', declared.nothing, true);
    const first = seats.for(young);
    (first.supervisor as unknown as FakeSupervisor).phase = { kind: 'starting' };
    learn({ modern: false });
    expect([seats.for(young), made.length]).toEqual([first, 1]);
  });

  it('that turns out to speak the other era alone serves both on one connection', () => {
    const { seats, connect, learn } = newSeats('auto');
    const first = seats.for(withCapabilities('young', declared.nothing, true));
    connect(first, 'legacy');
    learn({ modern: false, legacy: true });
    expect(seats.for(withCapabilities('young', declared.nothing, true))).toBe(first);
    expect(seats.for(withCapabilities('old', declared.nothing))).toBe(first);
  });
});

describe('classes of legacy clients', () => {
  it('have a connection each until it is known whether the server treats them alike #classes', () => {
    const { seats, connect } = newSeats('auto');
    const bare = seats.for(withCapabilities('a', declared.nothing));
    connect(bare);
    const roots = seats.for(withCapabilities('b', declared.roots));
    expect(roots).not.toBe(bare);
    expect(roots.aim.clients.capabilities).toBe('{"roots":{"listChanged":true}}');
    expect(seats.for(withCapabilities('c', '{"roots":{}}'))).toBe(roots);
  });

  it('that are treated alike share the connection that covers them, and the other one ends #classes', () => {
    const { seats, connect, learn, running } = newSeats('auto');
    const bare = seats.for(withCapabilities('a', declared.nothing));
    connect(bare);
    const more = seats.for(withCapabilities('b', declared.more));
    connect(more);
    learn({ classes: 'alike' });
    expect(running()).toEqual([more]);
    expect(seats.for(withCapabilities('a', declared.nothing))).toBe(more);
    expect(seats.for(withCapabilities('c', declared.roots))).toBe(more);
  });

  it('that are treated alike but do not cover each other meet on the next connection', () => {
    const { seats, connect, learn, running } = newSeats('auto', { classes: 'alike' });
    const roots = seats.for(withCapabilities('a', declared.roots));
    connect(roots);
    const both = seats.for(withCapabilities('b', declared.forms));
    connect(both);
    learn({});
    expect(JSON.parse(both.aim.clients.capabilities)).toEqual({
      roots: { listChanged: true },
      elicitation: { form: {} },
    });
    expect(running()).toEqual([both]);
  });

  it('go the same way however they write what they can do, and whoever they are #classes', () => {
    const { seats, connect } = newSeats('auto', { classes: 'differ' });
    const places = [declared.nothing, declared.roots].map((capabilities) => {
      const seat = seats.for(withCapabilities('a', capabilities));
      connect(seat);
      return seat;
    });
    expect(seats.for(withCapabilities('a', declared.roots))).toBe(places[1]);
    // Both places are free now: a class that was not seen before would take the first.
    for (const { supervisor } of places) (supervisor as unknown as FakeSupervisor).evict();
    const other = { ...newCaller('b', {}, { id: 'token:x', role: null }) };
    expect(seats.for({ ...other, capabilities: '{ "roots": {} }' })).toBe(places[1]);
  });

  it('do not go where modern clients go that can do the same #eras #classes', () => {
    const { seats, connect } = newSeats('auto');
    const old = seats.for(withCapabilities('old', declared.roots));
    connect(old);
    const young = seats.for(withCapabilities('young', declared.roots, true));
    connect(young);
    const again = [false, true].map((isModern) =>
      seats.for(withCapabilities('again', declared.roots, isModern)),
    );
    expect([young === old, again]).toEqual([false, [old, young]]);
  });

  it('that are treated differently stay apart', () => {
    const { seats, connect, learn, running } = newSeats('auto');
    const bare = seats.for(withCapabilities('a', declared.nothing));
    connect(bare);
    const more = seats.for(withCapabilities('b', declared.more));
    connect(more);
    learn({ classes: 'differ' });
    expect(running()).toEqual([bare, more]);
    expect(seats.for(withCapabilities('c', declared.nothing))).toBe(bare);
  });

  it('take over a place that nobody uses instead of a new one', () => {
    const { seats, connect, made } = newSeats('auto');
    const bare = seats.for(withCapabilities('a', declared.nothing));
    connect(bare);
    (bare.supervisor as unknown as FakeSupervisor).evict();
    expect(seats.for(withCapabilities('b', declared.more))).toBe(bare);
    expect(made).toHaveLength(1);
  });

  it('however many, get a bounded number of connections', () => {
    const { seats, connect, made } = newSeats('auto', { classes: 'differ' });
    for (let at = 0; at < 50; at++) {
      const extensions = { [`x/${at}`]: {} };
      connect(seats.for(withCapabilities(`c${at}`, JSON.stringify({ extensions }))));
    }
    expect(made.length).toBeLessThanOrEqual(6);
  });

  it('do not end a connection that is still used, and keep the pin on the one that stays', () => {
    const { seats, connect, learn, running } = newSeats('auto');
    seats.pin(true);
    const bare = seats.current;
    connect(bare, 'legacy');
    const more = seats.for(withCapabilities('b', declared.more));
    connect(more);
    const used = (bare.supervisor as unknown as FakeSupervisor).leases;
    used.isWanted = true;
    learn({ classes: 'alike' });
    expect(more.supervisor.leases.isPinned).toBe(true);
    expect([used.isPinned, running().length]).toEqual([false, 1]);
  });
});

describe('a client’s place', () => {
  it('is the shared one until the server has asked, and its own from then on', () => {
    const { seats, connect } = newSeats('auto');
    const [ann, bob] = [newCaller('ann'), newCaller('bob')];
    const shared = seats.for(ann);
    connect(shared);
    expect([seats.for(bob), seats.for(undefined)]).toEqual([shared, shared]);
    expect([seats.foundAsking(), seats.foundAsking(), seats.asks]).toEqual([true, false, true]);
    expect(seats.for(ann).owner).toBe('ann');
    expect(seats.for(bob).owner).toBe('bob');
    expect(seats.for(newCaller('ann'))).toBe(seats.for(ann));
    expect(seats.for(undefined)).toBe(shared);
  });

  it('stays the shared one for the only client that used it when the server asked', () => {
    const { seats, connect } = newSeats('auto');
    const ann = newCaller('ann');
    const shared = seats.for(ann);
    shared.use(connect(shared), ann, patience());
    seats.foundAsking();
    expect(seats.for(ann)).toBe(shared);
    expect(seats.for(newCaller('bob'))).not.toBe(shared);
  });

  it('is none of its own, and nobody else’s, once it is gone #classes', async () => {
    const { seats, connect, made } = newSeats('auto');
    const ann = newCaller('ann');
    const shared = seats.for(ann);
    shared.use(connect(shared), ann, patience());
    seats.foundAsking();
    await seats.release('ann');
    expect(shared.supervisor.connection).toBeUndefined();
    expect(seats.for(newCaller('ann', { isGone: true })).owner).toBeNull();
    await expect(seats.watch(newCaller('ann', { isGone: true }), 'x:y')).rejects.toMatchObject({
      code: 'cancelled',
    });
    expect([[...seats.all()], made.length]).toEqual([[shared], 1]);
  });

  it('is always shared, or always its own, if the operator says so', () => {
    const { seats: shared } = newSeats('shared');
    shared.foundAsking();
    expect(shared.for(newCaller('ann'))).toBe(shared.current);
    expect(shared.current.aim.clients).toBe(everyClass);
    const { seats: own } = newSeats('client');
    expect(own.for(newCaller('ann')).owner).toBe('ann');
  });

  it('is a free one for every call at the same time if it is asked in calls, up to eight', () => {
    const { seats } = newSeats('client', { modern: false });
    const calls = Array.from({ length: 10 }, () => newCaller('m', { isAskedInCalls: true }));
    const places = calls.map((caller) => {
      const seat = seats.for(caller);
      seat.enter(caller);
      return seat;
    });
    expect(new Set(places).size).toBe(8);
    const [first] = calls;
    places[0]?.leave(first);
    for (const at of [8, 9]) places[at]?.leave(calls[at]);
    expect(seats.for(newCaller('m', { isAskedInCalls: true }))).toBe(places[0]);
  });

  it('ends when the client is gone, and nobody else’s does', async () => {
    const { seats, made } = newSeats('client');
    seats.for(newCaller('ann'));
    seats.for(newCaller('bob'));
    await seats.release('ann');
    await seats.release('nobody');
    expect(made.map(({ isEnded }) => isEnded)).toEqual([false, true, false]);
    expect([...seats.all()].map(({ owner }) => owner)).toEqual([null, 'bob']);
    await seats.endAll();
    expect(made.map(({ isEnded }) => isEnded)).toEqual([true, true, true]);
  });

  it('is what it alone uses: its own, and a shared one that nobody else has touched', () => {
    const { seats, connect } = newSeats('auto');
    const shared = seats.for(newCaller('ann'));
    const connection = connect(shared);
    shared.use(connection, newCaller('ann'), patience());
    expect(seats.usedOnlyBy('ann')).toEqual([shared]);
    expect(seats.usedOnlyBy('bob')).toEqual([]);
    shared.use(connection, newCaller('bob'), patience());
    expect([...seats.usedOnlyBy('ann'), ...seats.usedOnlyBy('bob')]).toEqual([]);
  });
});
