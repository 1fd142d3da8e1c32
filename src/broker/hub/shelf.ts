// The mail of one kind in one mailbox: letters that wait, in the order in which they came, and the readers that
// they are handed to. A letter for one seat waits for that seat and holds up no other. A reader gets a limited
// number of letters that it has not acknowledged; of several readers each gets one in turn. Letters of a reader
// that has left wait again, before newer ones. A pure data structure: it decides which letter goes to whom, and
// its caller sends it.

import type { Held } from './held.ts';
import type { HubLimits } from './limits.ts';

/** Somebody who reads mail of this kind. */
export interface Reader {
  readonly seat: string;
  hand(held: Held): void;
}

interface Reading {
  readonly reader: Reader;
  /** By number; at most `windowLetters`. */
  readonly unacknowledged: Map<number, Held>;
  bytes: number;
}

export interface ShelfOptions {
  readonly limits: HubLimits;
  /** As `endsAt` of letters is counted. */
  readonly now: () => number;
  /** The time of a letter was over before anybody got it; it is here no longer. */
  readonly expired: (held: Held) => void;
}

export class Shelf {
  readonly #limits: HubLimits;
  readonly #now: () => number;
  readonly #expired: (held: Held) => void;
  /** Waiting letters for each seat, '' for any; at most the letters of this shelf. */
  readonly #waiting = new Map<string, Held[]>();
  /** By seat; at most one for each link of this mailbox. */
  readonly #readings = new Map<string, Reading>();
  /** All that are here, handed out or not, by number; at most `maxLetters`. */
  readonly #letters = new Map<number, Held>();
  /** The number of each, by its sender and id, one for each letter: the same one sent again is no second. */
  readonly #numbers = new Map<string, number>();
  #bytes = 0;
  #turn = 0;

  constructor({ limits, now, expired }: ShelfOptions) {
    this.#limits = limits;
    this.#now = now;
    this.#expired = expired;
  }

  get isEmpty(): boolean {
    return this.#letters.size === 0 && this.#readings.size === 0;
  }

  get bytes(): number {
    return this.#bytes;
  }

  hasRoomFor(bytes: number): boolean {
    const { maxLetters, maxBytes } = this.#limits;
    return this.#letters.size < maxLetters && this.#bytes + bytes <= maxBytes;
  }

  put(held: Held): void {
    this.#letters.set(held.number, held);
    this.#numbers.set(nameOf(held), held.number);
    this.#bytes += held.body.length;
    this.#queue(held);
    this.#handOut(held.seat ?? '');
  }

  /** A newer reader in the same seat takes over from the older one. */
  join(reader: Reader): void {
    this.leave(reader.seat);
    this.#readings.set(reader.seat, { reader, unacknowledged: new Map(), bytes: 0 });
    this.#handOut(reader.seat);
    this.#handOut('');
  }

  /** Its letters wait for the next reader. */
  leave(seat: string): void {
    const reading = this.#readings.get(seat);
    if (reading === undefined) return;
    this.#readings.delete(seat);
    const back = [...reading.unacknowledged.values()];
    for (const held of back) this.#queue(held);
    for (const place of new Set(back.map((held) => held.seat ?? ''))) {
      this.#waiting.get(place)?.sort((one, other) => one.number - other.number);
      this.#handOut(place);
    }
  }

  readerOf(seat: string): Reader | undefined {
    return this.#readings.get(seat)?.reader;
  }

  get readers(): readonly Reader[] {
    return [...this.#readings.values()].map(({ reader }) => reader);
  }

  /** One of them, each in turn; undefined if there is none. */
  nextReader(): Reader | undefined {
    const { readers } = this;
    this.#turn += 1;
    return readers[this.#turn % readers.length];
  }

  /** The letter is done with, if this seat has it now; undefined if not. */
  take(seat: string, number: number): Held | undefined {
    const reading = this.#readings.get(seat);
    const held = reading?.unacknowledged.get(number);
    if (reading === undefined || held === undefined) return undefined;
    reading.unacknowledged.delete(number);
    reading.bytes -= held.body.length;
    this.#forget(held);
    this.#handOut(seat);
    this.#handOut('');
    return held;
  }

  /** Removes one that is not handed out; false if it is, or is not here. */
  withdraw(number: number): boolean {
    const held = this.#letters.get(number);
    const queue = this.#waiting.get(held?.seat ?? '');
    const at = held === undefined ? -1 : (queue?.indexOf(held) ?? -1);
    if (held === undefined || at < 0) return false;
    queue?.splice(at, 1);
    this.#forget(held);
    return true;
  }

  /** Waiting letters whose time is over are removed. */
  expire(): void {
    const now = this.#now();
    for (const [place, queue] of this.#waiting) {
      const over = queue.filter((held) => isOver(held, now));
      if (over.length === 0) continue;
      const left = queue.filter((held) => !isOver(held, now));
      if (left.length === 0) this.#waiting.delete(place);
      else this.#waiting.set(place, left);
      for (const held of over) this.#expire(held);
    }
  }

  letter(number: number): Held | undefined {
    return this.#letters.get(number);
  }

  /** The one that this sender has sent with this id and that is still here. */
  sameAs(mailbox: string, id: string): Held | undefined {
    const number = this.#numbers.get(`${mailbox} ${id}`);
    return number === undefined ? undefined : this.#letters.get(number);
  }

  #queue(held: Held): void {
    const place = held.seat ?? '';
    const queue = this.#waiting.get(place);
    if (queue === undefined) this.#waiting.set(place, [held]);
    else queue.push(held);
  }

  #forget(held: Held): void {
    this.#letters.delete(held.number);
    this.#numbers.delete(nameOf(held));
    this.#bytes -= held.body.length;
  }

  #expire(held: Held): void {
    this.#forget(held);
    this.#expired(held);
  }

  #handOut(place: string): void {
    const queue = this.#waiting.get(place);
    if (queue === undefined) return;
    const now = this.#now();
    let gone = 0;
    while (gone < queue.length) {
      const held = queue[gone];
      if (held === undefined) break;
      if (isOver(held, now)) this.#expire(held);
      else if (!this.#hand(held)) break;
      gone += 1;
    }
    queue.splice(0, gone);
    if (queue.length === 0) this.#waiting.delete(place);
  }

  /** False: nobody can take it now. */
  #hand(held: Held): boolean {
    const reading = this.#freeReading(held);
    if (reading === undefined) return false;
    reading.unacknowledged.set(held.number, held);
    reading.bytes += held.body.length;
    reading.reader.hand(held);
    return true;
  }

  /** Of the one seat, or the next one in turn that has room. */
  #freeReading({ seat, body }: Held): Reading | undefined {
    if (seat !== undefined) {
      const reading = this.#readings.get(seat);
      return reading && this.#hasWindow(reading, body.length) ? reading : undefined;
    }
    const readings = [...this.#readings.values()];
    for (let tried = 0; tried < readings.length; tried += 1) {
      this.#turn += 1;
      const reading = readings[this.#turn % readings.length];
      if (reading && this.#hasWindow(reading, body.length)) return reading;
    }
    return undefined;
  }

  /** One letter is always possible, however large. */
  #hasWindow({ unacknowledged, bytes }: Reading, more: number): boolean {
    const { windowLetters, windowBytes } = this.#limits;
    if (unacknowledged.size === 0) return true;
    return unacknowledged.size < windowLetters && bytes + more <= windowBytes;
  }
}

function isOver({ endsAt }: Held, now: number): boolean {
  return endsAt !== undefined && endsAt <= now;
}

function nameOf({ from, id }: Held): string {
  return `${from.mailbox} ${id}`;
}
