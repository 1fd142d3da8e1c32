// Connections without a credential: how many there may be, and which one makes room for the next.

import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { Strangers } from './strangers.ts';

class FakeSocket extends EventEmitter {
  destroyed = false;
  readonly remoteAddress: string;
  readonly remotePort: number;

  constructor(remoteAddress: string, remotePort: number) {
    super();
    this.remoteAddress = remoteAddress;
    this.remotePort = remotePort;
  }

  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

function arrive(strangers: Strangers, address: string, ports: readonly number[]) {
  return ports.map((port) => {
    const socket = new FakeSocket(address, port);
    strangers.arrived(socket);
    return socket;
  });
}
const closed = (sockets: readonly FakeSocket[]) =>
  sockets.filter(({ destroyed }) => destroyed).map(({ remotePort }) => remotePort);

describe('connections without a credential', () => {
  it('make room for the next one: the oldest of the address that has most #no-growth', () => {
    const strangers = new Strangers(4);
    const honest = arrive(strangers, '10.0.0.1', [1]);
    const many = arrive(strangers, '10.0.0.2', [1, 2, 3, 4, 5]);
    expect([closed(honest), closed(many)]).toEqual([[], [1, 2]]);
    expect(strangers.size).toBe(4);
  });

  it('count no more when it is known whose they are, or they have ended #no-growth', () => {
    const strangers = new Strangers(2);
    const first = arrive(strangers, '::1', [1, 2]);
    strangers.known({ remoteAddress: '::1', remotePort: 1 });
    first[1]?.destroy();
    expect(strangers.size).toBe(0);
    strangers.known({ remoteAddress: '::1', remotePort: 1 });
    arrive(strangers, '::1', [3, 4, 5]);
    expect([closed(first), strangers.size]).toEqual([[2], 2]);
  });

  it.each([
    [512, 256],
    [1_024, 511],
    [50, 128],
  ])('are accepted by halves of what there is room for, but not by few: %i', (max, backlog) => {
    expect(new Strangers(max).backlog).toBe(backlog);
  });

  it('are all closed when their descriptors are needed', () => {
    const strangers = new Strangers(9);
    const all = [...arrive(strangers, '::1', [1, 2]), ...arrive(strangers, '::2', [3])];
    strangers.closeAll();
    expect([closed(all), strangers.size]).toEqual([[1, 2, 3], 0]);
  });
});
