// Which seats of workers something is kept for at the gateway.

import { expect, it } from 'vitest';
import { type WorkerSeat, WorkerSeats } from './worker-seats.ts';

const from = (mailbox: string, seat: string) => ({ mailbox, seat, role: null });

it('a seat is known until it is left, or its worker revoked, with others of it or alone #no-growth', () => {
  const seats = new WorkerSeats();
  expect(seats.asks(from('ann', 'a'), 'worker:ann')).toBe('ann/a');
  seats.asks(from('ann', 'b'), 'worker:ann');
  seats.asks(from('bob', 'a'), 'worker:bob');
  seats.asks(from('ann', 'a'), 'worker:ann');
  expect(seats.all).toHaveLength(3);
  const isLeft = (one: WorkerSeat) => one.worker === 'ann' && one.seat === 'b';
  expect(seats.take(isLeft).map(({ client }) => client)).toEqual(['ann/b']);
  const isRevoked = (one: WorkerSeat) => one.worker === 'ann';
  expect(seats.take(isRevoked).map(({ client, owner }) => `${client} ${owner}`)).toEqual([
    'ann/a worker:ann',
  ]);
  expect(seats.all.map(({ client }) => client)).toEqual(['bob/a']);
});

it('the next credential of a worker is another client in the same seat #broker-identity', () => {
  const seats = new WorkerSeats();
  const asks = (credential: string) => seats.asks({ ...from('ann', 'a'), credential }, credential);
  expect([asks('old'), asks('new')]).toEqual(['ann/old/a', 'ann/new/a']);
  expect(seats.take(({ credential }) => credential === 'old')).toHaveLength(1);
  expect(seats.all.map(({ owner }) => owner)).toEqual(['new']);
});

it('of very many the one that has asked for nothing for longest is forgotten #no-growth', () => {
  const seats = new WorkerSeats();
  for (let at = 0; at < 1_024; at += 1) seats.asks(from('ann', `s${at}`), 'worker:ann');
  seats.asks(from('ann', 's0'), 'worker:ann');
  seats.asks(from('bob', 'a'), 'worker:bob');
  expect(seats.all).toHaveLength(1_024);
  const taken = (name: string) => seats.take(({ seat }) => seat === name);
  expect([taken('s1'), taken('s0').length]).toEqual([[], 1]);
});
