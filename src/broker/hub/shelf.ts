// The mail of one kind in one mailbox: letters that wait, in the order in which they came, and the readers that
// they are handed to. A letter for one seat waits for that seat and holds up no other. A reader gets a limited
// number of letters that it has not acknowledged, and a smaller one of each sender; of several readers each gets one in
// turn. Letters of a reader that has left wait again, before newer ones. A pure data structure: it decides which letter goes to whom, and
// its caller sends it.

import { RingMap } from '../../kernel/ring-map.ts';
import type { Held } from './held.ts';
import { type HubLimits, weightOf } from './limits.ts';
import { SenderShares } from './sender-shares.ts';
import { type Handing, WaitingLetters } from './waiting-letters.ts';

/** So many letters are here at once, as a rule. */
const usualLetters = 256;

/** Somebody who reads mail of this kind. */
export interface Reader {
  readonly seat: string;
  hand(held: Held): void;
}

/** What makes it the same letter when it is sent again. */
type Named = Pick<Held, 'from' | 'id' | 'seat'>;

interface Reading {
  readonly reader: Reader;
  /** By number; at most `windowLetters`. */
  readonly unacknowledged: RingMap<number, Held>;
  /** Of the same letters. */
  readonly shares: SenderShares;
  bytes: number;
}

export interface ShelfOptions {
  readonly limits: HubLimits;
  /** As `endsAt` of letters is counted. */
  readonly now: () => number;
  /** The time of a letter was over before anybody got it; it is here no longer. */
  readonly expired: (held: Held) => void;
  /** The credential of its sender, or the one that it is for, is gone: nobody gets it any more. */
  readonly isRevoked: (held: Held) => boolean;
  /** So it was with this one; it is here no longer. */
  readonly revoked: (held: Held) => void;
  /** Whether that is so is not known yet: it waits. */
  readonly isUncertain: (held: Held) => boolean;
}

export class Shelf {
  readonly #limits: HubLimits;
  readonly #options: ShelfOptions;
  /** Waiting letters for each seat, '' for any; at most the letters of this shelf. */
  readonly #waiting = new Map<string, WaitingLetters>();
  /** By seat; at most one for each link of this mailbox. */
  readonly #readings = new Map<string, Reading>();
  /** All that are here, handed out or not, by number; at most `maxLetters`. */
  readonly #letters = new RingMap<number, Held>(usualLetters);
  /** The number of each, by `nameOf`, one for each letter: the same one sent again is no second. */
  readonly #numbers = new Map<string, number>();
  #bytes = 0;
  #turn = 0;
  #hadReader = false;

  constructor(options: ShelfOptions) {
    this.#options = options;
    this.#limits = options.limits;
  }

  get isEmpty(): boolean {
    return this.#letters.size === 0 && this.#readings.size === 0;
  }

  /** Whether somebody has ever read mail of this kind: then it is one of the mailbox's own. */
  get hadReader(): boolean {
    return this.#hadReader;
  }

  /** All that are here, in no particular order. */
  get letters(): readonly Held[] {
    return this.#letters.values();
  }

  hasRoomFor(weight: number): boolean {
    const { maxLetters, maxBytes } = this.#limits;
    return this.#letters.size < maxLetters && this.#bytes + weight <= maxBytes;
  }

  put(held: Held): void {
    this.#letters.set(held.number, held);
    this.#numbers.set(nameOf(held), held.number);
    this.#bytes += weightOf(held);
    this.#queueOf(held.seat ?? '').push(held);
    this.#handOut(held.seat ?? '');
  }

  /**
   * A seat that reads already goes on as before: it would be handed everything again that it has not acknowledged. An
   * older reader has left before a newer one has its seat.
   */
  join(reader: Reader): void {
    if (this.#readings.has(reader.seat)) return;
    this.#hadReader = true;
    this.#readings.set(reader.seat, {
      reader,
      unacknowledged: new RingMap(usualLetters),
      shares: new SenderShares(),
      bytes: 0,
    });
    this.#handOut(reader.seat);
    this.#handOut('');
  }

  /** Its letters wait for the next reader. */
  leave(seat: string): void {
    const reading = this.#readings.get(seat);
    if (reading === undefined) return;
    this.#readings.delete(seat);
    const back = reading.unacknowledged.values();
    for (const place of new Set(back.map((held) => held.seat ?? ''))) {
      this.#queueOf(place).putBack(back.filter((held) => (held.seat ?? '') === place));
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
    reading.shares.remove(held.from.mailbox, weightOf(held));
    this.#forget(held);
    this.#handOut(seat);
    this.#handOut('');
    return held;
  }

  /** Removes one that is not handed out; false if it is, or is not here. */
  withdraw(number: number): boolean {
    const held = this.#letters.get(number);
    const queue = this.#waiting.get(held?.seat ?? '');
    if (held === undefined || queue?.remove(held) !== true) return false;
    if (queue.isEmpty) this.#waiting.delete(held.seat ?? '');
    this.#forget(held);
    return true;
  }

  /** Waiting letters whose time is over are removed. */
  expire(): void {
    const now = this.#options.now();
    for (const [place, queue] of this.#waiting) {
      const over = queue.takeOut((held) => isOver(held, now));
      if (queue.isEmpty) this.#waiting.delete(place);
      for (const held of over) this.#expire(held);
    }
  }

  /** What waits may be handed out now, for another reason than a reader with room. */
  handOut(): void {
    for (const place of [...this.#waiting.keys()]) this.#handOut(place);
  }

  letter(number: number): Held | undefined {
    return this.#letters.get(number);
  }

  /** The one that was sent from this seat with this id, for the same seat, and that is still here. */
  sameAs(letter: Named): Held | undefined {
    const number = this.#numbers.get(nameOf(letter));
    return number === undefined ? undefined : this.#letters.get(number);
  }

  #queueOf(place: string): WaitingLetters {
    const known = this.#waiting.get(place);
    if (known !== undefined) return known;
    const queue = new WaitingLetters();
    this.#waiting.set(place, queue);
    return queue;
  }

  #forget(held: Held): void {
    this.#letters.delete(held.number);
    this.#numbers.delete(nameOf(held));
    this.#bytes -= weightOf(held);
  }

  #expire(held: Held): void {
    this.#forget(held);
    this.#options.expired(held);
  }

  #revoke(held: Held): void {
    this.#forget(held);
    this.#options.revoked(held);
  }

  #handOut(place: string): void {
    const queue = this.#waiting.get(place);
    if (queue === undefined) return;
    const { now, isRevoked, isUncertain } = this.#options;
    const at = now();
    queue.handOut((held) => {
      if (isOver(held, at)) this.#expire(held);
      else if (isRevoked(held)) this.#revoke(held);
      else return isUncertain(held) ? 'share' : this.#hand(held);
      return 'gone';
    });
    if (queue.isEmpty) this.#waiting.delete(place);
  }

  #hand(held: Held): Handing {
    const reading = this.#freeReading(held);
    if (typeof reading === 'string') return reading;
    reading.unacknowledged.set(held.number, held);
    reading.bytes += held.body.length;
    reading.shares.add(held.from.mailbox, weightOf(held));
    held.wasHanded = true;
    reading.reader.hand(held);
    return 'gone';
  }

  /** Of the one seat, or the next one in turn that has room; or why there is none. */
  #freeReading(held: Held): Reading | 'share' | 'full' {
    const { seat } = held;
    const one = seat === undefined ? undefined : this.#readings.get(seat);
    const readings = seat === undefined ? [...this.#readings.values()] : one ? [one] : [];
    let why: 'share' | 'full' = 'full';
    for (let tried = 0; tried < readings.length; tried += 1) {
      this.#turn += 1;
      const reading = readings[this.#turn % readings.length];
      if (reading === undefined || !this.#hasWindow(reading, held.body.length)) continue;
      if (this.#hasShare(reading, held)) return reading;
      why = 'share';
    }
    return why;
  }

  #hasShare({ shares }: Reading, held: Held): boolean {
    const { senderLetters: letters, senderBytes: bytes } = this.#limits;
    return shares.hasRoom(held.from.mailbox, weightOf(held), { letters, bytes });
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

/**
 * Two processes of a mailbox have seats of their own: what both have sent, or what is for both, is not the same letter; nor
 * is what two credentials of one name have sent.
 * None of these names has a space.
 */
function nameOf({ from, id, seat }: Named): string {
  return `${from.mailbox} ${from.credential ?? ''} ${from.seat} ${seat ?? ''} ${id}`;
}
