// How much of what a broker keeps, or a reader holds, was sent by whom, so that one sender cannot take the room of all
// others.

interface Share {
  letters: number;
  bytes: number;
}

export class SenderShares {
  /** By mailbox; one for each that has letters here, gone with its last one. */
  readonly #shares = new Map<string, Share>();

  hasRoom(mailbox: string, weight: number, most: Readonly<Share>): boolean {
    const { letters = 0, bytes = 0 } = this.#shares.get(mailbox) ?? {};
    return letters < most.letters && bytes + weight <= most.bytes;
  }

  add(mailbox: string, weight: number): void {
    const share = this.#shares.get(mailbox) ?? { letters: 0, bytes: 0 };
    share.letters += 1;
    share.bytes += weight;
    this.#shares.set(mailbox, share);
  }

  remove(mailbox: string, weight: number): void {
    const share = this.#shares.get(mailbox);
    if (share === undefined) return;
    share.letters -= 1;
    share.bytes -= weight;
    if (share.letters === 0) this.#shares.delete(mailbox);
  }
}
