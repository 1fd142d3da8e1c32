import { describe, expect, it } from 'vitest';
import { manualClock } from '../../../test/support/manual-clock.ts';
import type { Parking } from '../relay/parking.ts';
import { clientIdleMs, ModernClients } from './modern-clients.ts';

function known() {
  const clock = manualClock();
  const gone: string[] = [];
  const awaited: string[] = [];
  const clients = new ModernClients({
    clock,
    parking: {} as Parking,
    hearing: { may: () => true, mayReceive: () => true },
    isAwaited: (key) => awaited.includes(key),
    gone: (key) => void gone.push(key),
  });
  return { clock, gone, awaited, clients };
}

describe('a modern client', () => {
  it('whose end is not reported is removed when it has been idle #no-growth', () => {
    const { clock, gone, clients } = known();
    clients.of('a', { endsIdle: true });
    clock.advance(clientIdleMs);
    clients.of('b', { endsIdle: true });
    clock.advance(clientIdleMs - 1);
    expect(gone).toEqual([]);
    clock.advance(1);
    expect(gone).toEqual(['a']);
    clock.advance(clientIdleMs);
    expect([gone, clients.size, clock.pending]).toEqual([['a', 'b'], 0, 0]);
  });

  it('that is gone is known to be, so that nothing new is begun for it; who comes back is another #no-growth', () => {
    const { clients } = known();
    const first = clients.of('a', { endsIdle: true });
    expect(first.isGone).toBe(false);
    clients.forget('a');
    expect([first.isGone, clients.of('a', { endsIdle: true }).isGone]).toEqual([true, false]);
  });

  it('stays while it makes requests, however seldom within the time', () => {
    const { clock, gone, clients } = known();
    const first = clients.of('a', { endsIdle: true });
    for (let count = 0; count < 20; count++) {
      clock.advance(clientIdleMs - 1);
      expect(clients.of('a', { endsIdle: true })).toBe(first);
    }
    expect(gone).toEqual([]);
  });

  it.each(['a request is under way', 'something of it is awaited'])(
    'stays while %s, and for the whole time after it',
    (what) => {
      const { clock, gone, awaited, clients } = known();
      const client = clients.of('a', { endsIdle: true });
      const isRequest = what.includes('request');
      if (isRequest) client.underWay = 1;
      else awaited.push('a');
      clock.advance(10 * clientIdleMs);
      client.underWay = 0;
      awaited.length = 0;
      clock.advance(clientIdleMs);
      expect(gone).toEqual([]);
      clock.advance(clientIdleMs);
      expect(gone).toEqual(['a']);
    },
  );

  it('that is a connection ends with it, and not before', () => {
    const { clock, gone, clients } = known();
    clients.of('stdio', { endsIdle: false });
    expect(clock.pending).toBe(0);
    clients.of('a', { endsIdle: true });
    clock.advance(10 * clientIdleMs);
    expect([gone, clock.pending]).toEqual([['a'], 0]);
    clients.forget('stdio');
    expect([gone, clients.size]).toEqual([['a', 'stdio'], 0]);
  });

  it('goes first, beyond the bound, if its owner has the most of them #no-growth #principal-share', () => {
    const { gone, clients } = known();
    clients.of('modest', { endsIdle: true, sharingOwner: 'modest' });
    for (let path = 0; path < 300; path++) {
      clients.of(`greedy/role/${path}`, { endsIdle: true, sharingOwner: 'greedy' });
    }
    expect([clients.size, gone.length, gone[0]]).toEqual([256, 45, 'greedy/role/0']);
    expect(gone).not.toContain('modest');
  });

  it('is looked at no more after the end', () => {
    const { clock, clients } = known();
    clients.of('a', { endsIdle: true });
    clients[Symbol.dispose]();
    expect(clock.pending).toBe(0);
  });
});
