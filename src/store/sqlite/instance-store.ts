// The store of an instance as one serving process has it: it is opened when the process before has released it, and not
// before, also if it is used before; and it is handed over to the next one. What is opened is for others to say
// (open-sqlite-store.ts); an instance that keeps nothing on a disk has everything in memory, which goes along.

import type { Clock } from '../../kernel/clock.ts';
import { DeferredStore } from '../deferred-store.ts';
import { memoryBackend } from '../memory/memory-operations.ts';
import { MemoryStore } from '../memory-store.ts';
import type { StoreProblem } from '../problem.ts';
import type { FormerStore, TakingStore } from '../remote/former-store.ts';
import type { HeardMemory } from '../remote/memory-message.ts';
import { RemoteBackend } from '../remote/remote-backend.ts';
import type { StoreLink } from '../remote/store-link.ts';
import type { Store } from '../store.ts';
import type { Findings } from './open-database.ts';
import type { StoreOperation, StoreOutcome } from './operation.ts';
import { SqliteStore } from './sqlite-store.ts';

export interface InstanceStoreOptions {
  readonly clock: Clock;
  readonly report: (problem: StoreProblem) => void;
  /** It is opened when this resolves, or before at its first use; absent: at once. */
  readonly openAfter?: Promise<unknown>;
  /** The process before, which has the database until it has released it. Its operations are run by this store. */
  readonly former?: FormerStore | undefined;
}

/** The store of an instance, which can be handed over to its next process. */
export interface InstanceStore extends Store {
  /** Resolves when the next process may open the database, and everything that is asked here goes to it. */
  handOver(link: StoreLink): Promise<void>;
}

/** For an instance that keeps nothing on a disk: everything is in memory, and goes from process to process. */
export function openMemoryInstead(
  options: Omit<InstanceStoreOptions, 'openAfter'> & { readonly maxBytes?: number },
): InstanceStore {
  const { clock, report, maxBytes = memoryBytes } = options;
  const open = async (former: readonly HeardMemory[]) => {
    const memory = new MemoryStore({ clock, claims: 'durable', maxBytes });
    const backend = memoryBackend({ memory, clock });
    const missing = { problem: undefined, isWhole: true };
    return new SqliteStore({
      backend,
      memory,
      file: '',
      clock,
      report,
      findings: nothingFound,
      missing,
      former,
    });
  };
  return instanceStore(async () => open((await options.former?.released) ?? []), options);
}

/** More than its users keep by their own limits. */
const memoryBytes = 268_435_456;

/** Of a place that was not there before, or is another process's: nothing. */
export const nothingFound: Findings = { damaged: [], setAside: [], lossNote: null, isTorn: false };

/** `open` must not reject, and waits for what the former has released. */
export function instanceStore(
  open: () => Promise<SqliteStore>,
  { former, openAfter, clock, report }: InstanceStoreOptions,
): InstanceStore {
  const store = new OpenedLater(open, openAfter, { clock, report });
  former?.serve(store);
  return store;
}

class OpenedLater extends DeferredStore<SqliteStore> implements InstanceStore, TakingStore {
  readonly #options: Pick<InstanceStoreOptions, 'clock' | 'report'>;

  constructor(
    open: () => Promise<SqliteStore>,
    openAfter: Promise<unknown> | undefined,
    options: Pick<InstanceStoreOptions, 'clock' | 'report'>,
  ) {
    super(open, openAfter);
    this.#options = options;
  }

  async operate(operation: StoreOperation): Promise<StoreOutcome> {
    return await (await this.whenOpen()).operate(operation);
  }

  async handOver(link: StoreLink): Promise<void> {
    // It was not opened yet: then the next process may at once.
    if (this.openInstead(async () => handedOver(link, this.#options))) return;
    await (await this.whenOpen()).handOver(link);
  }
}

/** Without a database of its own: everything is asked of the next process from the beginning. */
function handedOver(
  link: StoreLink,
  { clock, report }: Pick<InstanceStoreOptions, 'clock' | 'report'>,
): SqliteStore {
  const backend = new RemoteBackend(link);
  backend.tellReleased();
  return new SqliteStore({
    backend,
    file: '',
    clock,
    report,
    findings: nothingFound,
    isHandedOver: true,
  });
}
