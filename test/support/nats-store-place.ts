// The NATS store as a subject of the store suite: a namespace of its own on a real server for each place.

import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { systemClock } from '../../src/kernel/system-clock.ts';
import type { NatsStoreOptions } from '../../src/store/nats/nats-store.ts';
import { openNatsStore } from '../../src/store/nats/open-nats-store.ts';
import type { StoreProblem } from '../../src/store/problem.ts';
import type { Store } from '../../src/store/store.ts';
import type { ManualClock } from './manual-clock.ts';
import { NatsServer } from './nats-server.ts';
import type { StoreSubject } from './store-suite/subject.ts';
import { until } from './until.ts';

/** A server with JetStream and nothing else, or with more lines in its config. */
export function startPlainNats(...lines: readonly string[]): Promise<NatsServer> {
  return NatsServer.start([], (storeDir) =>
    [`jetstream { store_dir: ${JSON.stringify(join(storeDir))} }`, ...lines].join('\n'),
  );
}

export function newNamespace(): string {
  return `t-${randomBytes(6).toString('hex')}`;
}

export interface OpenedNats {
  readonly store: Store;
  readonly problems: readonly StoreProblem[];
}

/** With what it reports. */
export function openNats(address: string, options: Partial<NatsStoreOptions> = {}): OpenedNats {
  const problems: StoreProblem[] = [];
  const store = openNatsStore(address, {
    clock: systemClock,
    report: (problem) => void problems.push(problem),
    caught: (error) => {
      throw error;
    },
    ...options,
  });
  return { store, problems };
}

export function isWell(store: Store): Promise<void> {
  return until(() => store.health().ok, 'the store is well');
}

/** Time is that of the manual clock of each case; the server's own runs on. */
export function natsSubject(url: () => string): StoreSubject {
  const all = ['durable', 'process', 'forgetful'] as const;
  return {
    offers: { records: all, logs: all, queues: ['durable', 'process'], counters: all },
    boundsRecords: true,
    outlivesClosing: true,
    forgetsInMemory: true,
    watches: all,
    watchMs: 20_000,
    place: () => {
      const address = `${url()}/${newNamespace()}`;
      return {
        open: async (clock: ManualClock) => {
          const { store } = openNats(address, { clock, sharedTime: () => clock.wallNow() });
          await isWell(store);
          return store;
        },
      };
    },
  };
}
