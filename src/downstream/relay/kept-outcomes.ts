// Parked calls that have ended and are kept for clients that ask for their outcome again, each with its requests and its
// outcome: so many in all, and so many bytes. Of both a remote owner has its share, over all its paths. Beyond that the
// oldest are forgotten: those of the owner itself, or of the one that has the most.

import { limitedAs } from '../../host/connections/caller.ts';
import { OwnerCounts, shareOf } from '../../kernel/owner-counts.ts';
import type { ParkedCall } from './parked-call.ts';

/** Beyond, the oldest are not kept. */
export const maxKept = 256;
const maxBytes = 67_108_864;

interface Kept {
  readonly call: ParkedCall;
  /** Undefined: the local user, who has no share. */
  readonly owner: string | undefined;
  readonly bytes: number;
}

export class KeptOutcomes {
  /** The oldest first, until they are forgotten; at most `maxKept`. */
  readonly #kept = new Map<ParkedCall, Kept>();
  /** Of remote owners. */
  readonly #counts = new OwnerCounts();
  readonly #bytes = new OwnerCounts();
  #all = 0;

  /** A call has ended; `bytes` are those of its outcome. */
  add(call: ParkedCall, bytes: number): void {
    const { client } = call.caller;
    const owner = client.sharingOwner === undefined ? undefined : limitedAs(client);
    const kept = { call, owner, bytes: bytes + call.requestBytes };
    this.#kept.set(call, kept);
    this.#all += kept.bytes;
    if (owner !== undefined) {
      this.#counts.add(owner);
      this.#bytes.add(owner, kept.bytes);
      while (this.#isBeyondShare(owner)) this.#forgetOldest(owner);
    }
    while (this.#kept.size > maxKept) this.#forgetOldest(this.#counts.largest());
    while (this.#all > maxBytes) this.#forgetOldest(this.#bytes.largest());
  }

  /** It is forgotten. */
  remove(call: ParkedCall): void {
    const kept = this.#kept.get(call);
    if (kept === undefined) return;
    this.#kept.delete(call);
    this.#all -= kept.bytes;
    if (kept.owner === undefined) return;
    this.#counts.remove(kept.owner);
    this.#bytes.remove(kept.owner, kept.bytes);
  }

  #isBeyondShare(owner: string): boolean {
    return this.#counts.of(owner) > shareOf(maxKept) || this.#bytes.of(owner) > shareOf(maxBytes);
  }

  /** Of this owner; of all if there is no remote one. */
  #forgetOldest(owner: string | undefined): void {
    for (const kept of this.#kept.values()) {
      if (owner !== undefined && kept.owner !== owner) continue;
      this.remove(kept.call);
      return kept.call.forget();
    }
  }
}
