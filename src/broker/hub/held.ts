// A letter that the broker holds until its reader has acknowledged it.

import type { Sender } from '../contract.ts';

export interface Held {
  readonly number: number;
  readonly id: string;
  readonly from: Sender;
  readonly to: string;
  /** The one seat that it is for; undefined: any. */
  readonly seat: string | undefined;
  readonly kind: string;
  readonly about: string | undefined;
  /** Wall time, as it is stored; undefined: never. */
  readonly expiresAt: number | undefined;
  /** The same on the monotonic clock of this process. */
  readonly endsAt: number | undefined;
  readonly body: Buffer;
  /** Resolves when it is on the disk, or done with; rejects with a BrokerError. */
  stored: Promise<void>;
  /** The disk has refused it, and its reader had it already. */
  isUnkept: boolean;
}
