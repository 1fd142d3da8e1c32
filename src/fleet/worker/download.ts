// A large response that is pulled in parts: which part to ask for next, and the whole when all have come. Parts
// that have come are kept over the loss of a link. Each part comes once for each time that it was asked for; many that
// nobody has asked for are no way to send this response.

import { createHash } from 'node:crypto';
import { type Parcel, partBytes, partsAhead } from '../parcel.ts';

/** Of one response, beyond what was asked for. */
const maxUnasked = partsAhead;

export class Download {
  readonly #parcel: Parcel;
  readonly #whole: Buffer;
  /** Offsets of parts that have not come, in order. */
  readonly #missing: Set<number>;
  /** Offsets that were asked for; at most `partsAhead`. */
  readonly #asked = new Set<number>();
  /** How often each part was asked for and has not come; one for each part at most. */
  readonly #owed = new Map<number, number>();
  #unasked = 0;
  #hasComeOn = true;

  constructor(parcel: Parcel) {
    this.#parcel = parcel;
    this.#whole = Buffer.allocUnsafeSlow(parcel.bytes);
    const parts = Math.ceil(parcel.bytes / partBytes);
    this.#missing = new Set(Array.from({ length: parts }, (_, at) => at * partBytes));
  }

  isOf({ bytes, sha256 }: Parcel): boolean {
    return this.#parcel.bytes === bytes && this.#parcel.sha256 === sha256;
  }

  /** How many parts were asked for and have not come. */
  get asked(): number {
    return this.#asked.size;
  }

  /** Whether no part has come since this was last looked at. */
  lookIfStale(): boolean {
    const isStale = !this.#hasComeOn;
    this.#hasComeOn = false;
    return isStale;
  }

  /** The parts to ask for now, at most so many. */
  next(most: number): readonly number[] {
    const offsets: number[] = [];
    for (const offset of this.#missing) {
      if (this.#asked.size >= partsAhead || offsets.length >= most) break;
      if (this.#asked.has(offset)) continue;
      this.#asked.add(offset);
      this.#owed.set(offset, (this.#owed.get(offset) ?? 0) + 1);
      offsets.push(offset);
    }
    return offsets;
  }

  /** What was asked for in vain is asked for again. */
  askAgain(): void {
    this.#asked.clear();
  }

  /** False if it is no part of this response, or one too many that was not asked for. */
  put(offset: number, bytes: Buffer): boolean {
    if (offset >= this.#whole.length || offset % partBytes !== 0) return false;
    if (bytes.length !== Math.min(partBytes, this.#whole.length - offset)) return false;
    const owed = this.#owed.get(offset) ?? 0;
    if (owed > 0) this.#owed.set(offset, owed - 1);
    else this.#unasked += 1;
    if (this.#unasked > maxUnasked) return false;
    if (!this.#missing.delete(offset)) return true;
    bytes.copy(this.#whole, offset);
    this.#asked.delete(offset);
    this.#hasComeOn = true;
    return true;
  }

  /** Undefined while parts are missing; 'damaged' if the whole is not what was announced. */
  get result(): Buffer | 'damaged' | undefined {
    if (this.#missing.size > 0) return undefined;
    const sha256 = createHash('sha256').update(this.#whole).digest('hex');
    return sha256 === this.#parcel.sha256 ? this.#whole : 'damaged';
  }
}
