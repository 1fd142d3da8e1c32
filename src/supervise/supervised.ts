// What supervision requires of a connection, and how one is opened.

import type { Fault } from '../kernel/fault.ts';
import type { CloseReason } from './life-machine.ts';

/** What supervision requires of a connection. */
export interface Supervised {
  /**
   * Ends it and everything that belongs to it. Resolves to how many remaining processes had to be
   * swept.
   */
  close(reason: CloseReason): Promise<number>;
  /** Whether it still answers. Must settle by itself. */
  probe(): Promise<boolean>;
}

/**
 * Opens the connection of a generation. When the signal aborts it must clean up completely and
 * reject. `lost` reports the end of a connection that was open.
 */
export type Connect<C extends Supervised> = (
  generation: number,
  signal: AbortSignal,
  lost: (cause: Fault) => void,
) => Promise<C>;
