// Who is connected: the members of the hub by mailbox and seat. A newer link in a seat takes it from the older one.

import { BrokerError } from '../broker-error.ts';
import type { Member } from './member.ts';

export class Members {
  /** By mailbox and seat; one for each open link. */
  readonly #members = new Map<string, Map<string, Member>>();
  readonly #maxSeats: number;

  /** At most so many seats of one mailbox. */
  constructor(maxSeats: number) {
    this.#maxSeats = maxSeats;
  }

  get all(): readonly Member[] {
    return [...this.#members.values()].flatMap((seats) => [...seats.values()]);
  }

  get size(): number {
    return [...this.#members.values()].reduce((sum, seats) => sum + seats.size, 0);
  }

  /** Those that have a link. */
  get mailboxes(): readonly string[] {
    return [...this.#members.keys()];
  }

  has(mailbox: string): boolean {
    return this.#members.has(mailbox);
  }

  get(mailbox: string, seat: string): Member | undefined {
    return this.#members.get(mailbox)?.get(seat);
  }

  /** Ends the older one in this seat. Throws a BrokerError. */
  makeRoom(mailbox: string, seat: string): void {
    this.get(mailbox, seat)?.end(new BrokerError('replaced', 'a newer link has this seat'));
    const { size = 0 } = this.#members.get(mailbox) ?? {};
    if (size < this.#maxSeats) return;
    throw new BrokerError('full', `the mailbox ${mailbox} has ${size} links`);
  }

  add(member: Member): void {
    const { mailbox } = member.identity;
    // The end of the only link of a mailbox has ended its entry.
    const seats = this.#members.get(mailbox) ?? new Map<string, Member>();
    this.#members.set(mailbox, seats.set(member.seat, member));
  }

  /** False if it is none, or another one has its seat. */
  remove(member: Member): boolean {
    const { mailbox } = member.identity;
    const seats = this.#members.get(mailbox);
    if (seats?.get(member.seat) !== member) return false;
    seats.delete(member.seat);
    if (seats.size === 0) this.#members.delete(mailbox);
    return true;
  }
}
