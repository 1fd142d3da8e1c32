// Several HTTP fronts on one store, with tunnels between them over a bus in this process; a test can kill one, let it shut
// down, and make the store slow, unreadable or away.

import type { Duplex } from 'node:stream';
import { isStoredSession } from '../../src/downstream/http/legacy/kept-sessions.ts';
import type { HttpConfig } from '../../src/downstream/http/listener.ts';
import { Tunnels } from '../../src/replicas/tunnel/tunnels.ts';
import type { Records } from '../../src/store/contract/records.ts';
import { MemoryStore } from '../../src/store/memory-store.ts';
import { StoreError } from '../../src/store/store-error.ts';
import { result } from './fake-front.ts';
import { type FrontOptions, httpFront, legacyHeaders } from './http-front.ts';
import { ManualClock } from './manual-clock.ts';
import { MemoryBusServer } from './memory-bus.ts';

/** `options` of each front; its time is that of the system if none is given. */
export async function replicaFronts(
  count = 2,
  options: FrontOptions = {},
  clock = new ManualClock(),
) {
  const server = new MemoryBusServer();
  const store = new MemoryStore({ clock });
  const stored = store.records('sessions', { durability: 'process', shape: isStoredSession });
  /** While it is away nothing can be stored. */
  const storing = { isAway: false, isUnreadable: false, reads: 0, slow: Promise.resolve() };
  const putIfAbsent = stored.putIfAbsent.bind(stored);
  const get = stored.get.bind(stored);
  const sessions: Records = Object.assign(stored, {
    get: async (key: string) => {
      storing.reads += 1;
      await storing.slow;
      if (storing.isUnreadable) throw new StoreError('not_kept', 'it is away');
      return await get(key);
    },
    putIfAbsent: async (...args: Parameters<Records['putIfAbsent']>) => {
      if (storing.isAway) throw new StoreError('not_kept', 'it is away');
      return await putIfAbsent(...args);
    },
  });
  const made = Array.from({ length: count }, async (_, at) => {
    const bus = server.member();
    let accept: (connection: Duplex) => void = (connection) => connection.destroy();
    const tunnels = new Tunnels({
      bus,
      clock,
      subjects: 'hf.test',
      id: `${'abc'[at]}`.repeat(8),
      secret: Buffer.alloc(32, 'secret'),
      accepted: (connection) => accept(connection),
      caught: (error) => {
        throw error;
      },
    });
    const config = { auth: 'token' } as HttpConfig;
    const authenticator = { authenticate: () => ({ principal: { id: 'token:ann', role: 'all' } }) };
    const replica = await httpFront({
      ...options,
      ...{ peers: tunnels, sessions, config, authenticator },
    });
    tunnels.accept();
    accept = (connection) => replica.http.accept(connection);
    const kill = () => {
      bus.vanish();
      tunnels[Symbol.dispose]();
    };
    const drain = () => {
      tunnels.stopAccepting();
      replica.http.drain();
    };
    return { ...replica, kill, drain, tunnels, bus };
  });
  return { replicas: await Promise.all(made), sessions, clock, server, storing };
}

export type Replica = Awaited<ReturnType<typeof replicaFronts>>['replicas'][number];

export const calling = (session: string, id: number, method = 'tools/list') => ({
  headers: legacyHeaders(session),
  body: { jsonrpc: '2.0', id, method, params: {} },
});

/** Lists are answered by this one, with its name. */
export function answers(replica: Replica): void {
  replica.front.onAsked = ({ method, message, reply }) => {
    if (method === 'tools/list') reply.answer(result(message.id, { by: replica.tunnels.id }));
  };
}
