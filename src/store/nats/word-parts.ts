// What records, logs, queues and counters on a NATS server have in common.

import type { Clock, Random } from '../../kernel/clock.ts';
import type { RecordsHeard } from '../contract/records.ts';
import type { KeptStream } from './kept-stream.ts';

export interface WordParts {
  readonly clock: Clock;
  readonly random: Random;
  /** Runs it unless the store is closed; closing waits for it. */
  readonly during: <T>(work: () => Promise<T>) => Promise<T>;
  /** The same for a change. */
  readonly changing: <T>(work: () => Promise<T>) => Promise<T>;
  /** A value of this name that was asked for is damaged, or none of ours. */
  readonly damagedOne: (name: string) => void;
  /** There is no room for another value of this name. */
  readonly full: (name: string) => void;
  /** So many records of this name cannot be read, and count as absent. */
  readonly unreadable: (name: string, count: number) => void;
  /** Follows the changes of a stream with keys. */
  readonly watch: (stream: KeptStream, prefix: string, heard: RecordsHeard) => Disposable;
}
