// How many bytes of answers wait to be stored, of each owner and in all. Servers can answer faster than a disk writes:
// beyond the limit an answer is not stored, so that neither memory nor the others who wait for the disk depend on how
// much one caller asks for. An owner that has nothing waiting may have one answer of any size.

import { OwnerCounts, shareOf } from '../kernel/owner-counts.ts';
import { ownerIdIn } from './principal.ts';

const usualBytes = 33_554_432;

export class WaitingAnswers {
  readonly #maxBytes: number;
  readonly #bytesOf = new OwnerCounts();
  #bytes = 0;

  constructor(maxBytes: number = usualBytes) {
    this.#maxBytes = maxBytes;
  }

  /** False: there is no room. True: it waits, until `done`. */
  begin(id: string, bytes: number): boolean {
    const owner = ownerIdIn(id);
    const own = this.#bytesOf.of(owner);
    const isFirst = own === 0 && this.#bytes < this.#maxBytes;
    const fits = own + bytes <= shareOf(this.#maxBytes) && this.#bytes + bytes <= this.#maxBytes;
    if (!isFirst && !fits) return false;
    this.#bytesOf.add(owner, bytes);
    this.#bytes += bytes;
    return true;
  }

  done(id: string, bytes: number): void {
    this.#bytesOf.remove(ownerIdIn(id), bytes);
    this.#bytes -= bytes;
  }

  get size(): { readonly bytes: number; readonly owners: number } {
    return { bytes: this.#bytes, owners: this.#bytesOf.size };
  }
}
