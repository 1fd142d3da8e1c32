import { describe, expect, it } from 'vitest';
import type { ConnectionSlot } from '../connections/connection-slot.ts';
import { IdlePool } from './idle-pool.ts';

/** As much of a server as the pool looks at. */
class FakeServer {
  readonly name: string;
  readonly leases: { isWanted: boolean; idleSince: number | null } = {
    isWanted: false,
    idleSince: null,
  };
  connection: object | undefined = {};
  readonly supervisor = this;

  constructor(name: string, idleSince: number | null) {
    this.name = name;
    this.leases.idleSince = idleSince;
    this.leases.isWanted = idleSince === null;
  }

  evict(): void {
    this.connection = undefined;
  }
}

function newPool(maxIdle: number, servers: readonly FakeServer[]) {
  const pool = new IdlePool(maxIdle, () =>
    servers.map((server) => [server as unknown as ConnectionSlot]),
  );
  const open = () => servers.filter(({ connection }) => connection).map(({ name }) => name);
  return { pool, open };
}

describe('idle connections', () => {
  it('are kept up to the bound', () => {
    const { pool, open } = newPool(2, [new FakeServer('a', 1), new FakeServer('b', 2)]);
    pool.arrived();
    pool.arrived();
    pool.settle();
    expect(open()).toEqual(['a', 'b']);
  });

  it('go beyond it, the one that was used longest ago first', () => {
    const servers = [new FakeServer('a', 30), new FakeServer('b', 10), new FakeServer('c', 20)];
    const { pool, open } = newPool(1, servers);
    for (const _server of servers) pool.arrived();
    expect(open()).toEqual(['a']);
  });

  it('do not count while somebody uses them, and are not touched', () => {
    const used = new FakeServer('used', null);
    const { pool, open } = newPool(0, [used, new FakeServer('idle', 5)]);
    pool.arrived();
    pool.arrived();
    expect(open()).toEqual(['used']);
    pool.settle();
    expect(open()).toEqual(['used']);
    Object.assign(used.leases, { isWanted: false, idleSince: 9 });
    pool.settle();
    expect(open()).toEqual([]);
  });

  it('do not count when they are gone', () => {
    const gone = new FakeServer('gone', 1);
    const { pool, open } = newPool(1, [gone, new FakeServer('b', 2)]);
    pool.arrived();
    gone.connection = undefined;
    pool.arrived();
    pool.settle();
    expect(open()).toEqual(['b']);
  });

  it('are bounded over a long time of coming and going', () => {
    const servers: FakeServer[] = [];
    const { pool, open } = newPool(3, servers);
    for (let time = 1; time <= 50; time++) {
      const busy = new FakeServer(`s${time}`, null);
      servers.push(busy);
      pool.arrived();
      Object.assign(busy.leases, { isWanted: false, idleSince: time });
      pool.settle();
      expect(open().length).toBeLessThanOrEqual(3);
    }
    expect(open()).toEqual(['s48', 's49', 's50']);
  });

  it('that were never used go before all others', () => {
    const fresh = new FakeServer('fresh', null);
    fresh.leases.isWanted = false;
    const { pool, open } = newPool(1, [new FakeServer('old', 1), fresh]);
    pool.arrived();
    pool.arrived();
    expect(open()).toEqual(['old']);
  });
});
