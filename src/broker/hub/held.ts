// A letter that the broker holds until its reader has acknowledged it: in memory, from and to what is stored of it.

import type { Sender } from '../contract.ts';
import type { StoredLetter } from './stored-letter.ts';

export interface Held {
  readonly number: number;
  readonly id: string;
  readonly from: Sender;
  readonly to: string;
  /** Of the worker that it is for; undefined: it is for none, or nobody knows. */
  readonly credential: string | undefined;
  /** The one seat that it is for; undefined: any. */
  readonly seat: string | undefined;
  readonly kind: string;
  readonly about: string | undefined;
  /** Wall time, as it is stored; undefined: never. */
  readonly expiresAt: number | undefined;
  /** The same on the monotonic clock of this process. */
  readonly endsAt: number | undefined;
  /** Until it is written it may be a part of what was read with it. */
  body: Buffer;
  /** Resolves when it is on the disk, or done with; rejects with a BrokerError. */
  stored: Promise<void>;
  /** Somebody had it, or has it now. */
  wasHanded: boolean;
  /** The disk has refused it, and its reader had it already. */
  isUnkept: boolean;
}

/** What was read from a socket together may be so much larger than a letter in it. */
const spareBytes = 1_024;

/** A letter may be held for long: its body must not keep everything in memory that was read with it. */
export function ownBody(body: Buffer): Buffer {
  if (body.buffer.byteLength <= 2 * body.length + spareBytes) return body;
  const own = Buffer.allocUnsafeSlow(body.length);
  body.copy(own);
  return own;
}

export function storedFrom(held: Held): StoredLetter {
  const { number, id, from, to, credential, seat, kind, about, expiresAt, body } = held;
  return {
    number,
    id,
    from,
    to,
    ...(credential !== undefined && { credential }),
    seat: seat ?? null,
    kind,
    about: about ?? null,
    expiresAt: expiresAt ?? null,
    body,
  };
}

/** `now`: the same moment on both clocks of this process. */
export function heldFrom(
  stored: StoredLetter,
  now: { readonly wall: number; readonly monotonic: number },
): Held {
  const { number, id, from, to, credential, kind, about, seat, expiresAt } = stored;
  return {
    number,
    id,
    from,
    to,
    credential,
    seat: seat ?? undefined,
    kind,
    about: about ?? undefined,
    expiresAt: expiresAt ?? undefined,
    endsAt: expiresAt === null ? undefined : now.monotonic + expiresAt - now.wall,
    body: ownBody(stored.body),
    stored: Promise.resolve(),
    // By an earlier process, perhaps.
    wasHanded: true,
    isUnkept: false,
  };
}
