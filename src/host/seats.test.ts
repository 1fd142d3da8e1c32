import { describe, expect, it } from 'vitest';
import { FakeUpstream } from '../../test/support/fake-upstream.ts';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { localUser, type Principal } from '../policy/principal.ts';
import type { Supervisor } from '../supervise/supervisor.ts';
import type { Connection } from '../upstream/connection.ts';
import type { Caller } from './caller.ts';
import { Patience } from './patience.ts';
import { Seat } from './seat.ts';
import { Seats } from './seats.ts';

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
  connection: Connection | undefined = new FakeUpstream();
  isEnded = false;

  async end(): Promise<void> {
    this.isEnded = true;
  }
}

const patience = () => new Patience(new ManualClock(), 1, 1, { expired() {}, progressed() {} });

function newSeat(owner: string | null = null) {
  const supervisor = new FakeSupervisor();
  const seat = new Seat(
    owner,
    new ManualClock(),
    () => supervisor as unknown as Supervisor<Connection>,
  );
  const use = (connection: Connection, caller: Caller | undefined) =>
    seat.use(connection, caller, patience());
  return { seat, supervisor, use };
}

function newSeats(isolation: 'auto' | 'shared' | 'client') {
  const made: FakeSupervisor[] = [];
  const seats = new Seats(isolation, (owner) => {
    const { seat, supervisor } = newSeat(owner);
    made.push(supervisor);
    return seat;
  });
  return { seats, made };
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

describe('a client’s place', () => {
  it('is the shared one until the server has asked, and its own from then on', () => {
    const { seats } = newSeats('auto');
    const [ann, bob] = [newCaller('ann'), newCaller('bob')];
    expect([seats.for(ann), seats.for(bob), seats.for(undefined)]).toEqual(
      Array(3).fill(seats.shared),
    );
    expect([seats.foundAsking(), seats.foundAsking(), seats.asks]).toEqual([true, false, true]);
    expect(seats.for(ann).owner).toBe('ann');
    expect(seats.for(bob).owner).toBe('bob');
    expect(seats.for(newCaller('ann'))).toBe(seats.for(ann));
    expect(seats.for(undefined)).toBe(seats.shared);
  });

  it('stays the shared one for the only client that used it when the server asked', () => {
    const { seats } = newSeats('auto');
    const ann = newCaller('ann');
    const { connection } = seats.shared.supervisor;
    if (connection) seats.shared.use(connection, ann, patience());
    seats.foundAsking();
    expect(seats.for(ann)).toBe(seats.shared);
    expect(seats.for(newCaller('bob'))).not.toBe(seats.shared);
  });

  it('is always shared, or always its own, if the operator says so', () => {
    const { seats: shared } = newSeats('shared');
    shared.foundAsking();
    expect(shared.for(newCaller('ann'))).toBe(shared.shared);
    const { seats: own } = newSeats('client');
    expect(own.for(newCaller('ann')).owner).toBe('ann');
  });

  it('is a free one for every call at the same time if it is asked in calls, up to eight', () => {
    const { seats } = newSeats('client');
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
    const { seats } = newSeats('auto');
    const { connection } = seats.shared.supervisor;
    if (connection) seats.shared.use(connection, newCaller('ann'), patience());
    expect(seats.usedOnlyBy('ann')).toEqual([seats.shared]);
    expect(seats.usedOnlyBy('bob')).toEqual([]);
    if (connection) seats.shared.use(connection, newCaller('bob'), patience());
    expect([...seats.usedOnlyBy('ann'), ...seats.usedOnlyBy('bob')]).toEqual([]);
  });
});
