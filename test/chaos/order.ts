// One call as it is wished for: whom it is for, what it says, what is to go wrong in it, and how its
// client behaves meanwhile.

import type { OrderedFault } from './faults.ts';

export interface Order {
  readonly server: string;
  readonly tool: 'echo' | 'get' | 'add' | 'append' | 'set' | 'slow' | 'roots' | 'cached';
  /** Without the nonce, which its client adds. */
  readonly args: Readonly<Record<string, unknown>>;
  readonly fault?: OrderedFault;
  /** An idempotency key, unique to the run: who says it again must get what the first got. */
  readonly key?: string;
  /** Everybody says it with the same arguments: the nonce stands beside them. */
  readonly isAlike?: boolean;
  /** The client gives up after this long, if there is no answer yet. */
  readonly cancelAfterMs?: number;
  /** The client begins to read the answer so long after it has begun to come. */
  readonly readAfterMs?: number;
}
