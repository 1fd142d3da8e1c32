// The letters that workers have told to one reader and that it has not read yet, so that one of them cannot keep those
// of others waiting. What is told is not acknowledged, and what has left us may still be on its way: so when a sender
// has half its share, a mark is sent after its letters, and when the reader has passed the mark it has read them. One
// mark is under way at a time.

interface Share {
  letters: number;
  bytes: number;
}

const none: Readonly<Share> = { letters: 0, bytes: 0 };

export class ToldShares {
  readonly #most: Readonly<Share>;
  /** Since the last mark, by sender; emptied with each mark, so one for each credential at most. */
  #fresh = new Map<string, Share>();
  /** Before the mark that is under way, by sender; undefined: there is none. Bounded as above. */
  #marked: ReadonlyMap<string, Share> | undefined;
  /** Somebody has half its share, and waits for a mark. */
  #isDue = false;

  constructor(most: Readonly<Share>) {
    this.#most = most;
  }

  hasRoom(sender: string, weight: number): boolean {
    const { letters, bytes } = this.#unreadOf(sender);
    return letters < this.#most.letters && bytes + weight <= this.#most.bytes;
  }

  /** It is handed to the reader. True: a mark is to be sent after it. */
  add(sender: string, weight: number): boolean {
    const share = this.#fresh.get(sender) ?? { ...none };
    share.letters += 1;
    share.bytes += weight;
    this.#fresh.set(sender, share);
    const { letters, bytes } = this.#unreadOf(sender);
    if (letters * 2 >= this.#most.letters || bytes * 2 >= this.#most.bytes) this.#isDue = true;
    return this.#marks();
  }

  /** The reader has passed the mark. True: another one is to be sent now. */
  passed(): boolean {
    this.#marked = undefined;
    return this.#marks();
  }

  #marks(): boolean {
    if (!this.#isDue || this.#marked !== undefined) return false;
    this.#isDue = false;
    this.#marked = this.#fresh;
    this.#fresh = new Map();
    return true;
  }

  #unreadOf(sender: string): Share {
    const fresh = this.#fresh.get(sender) ?? none;
    const marked = this.#marked?.get(sender) ?? none;
    return { letters: fresh.letters + marked.letters, bytes: fresh.bytes + marked.bytes };
  }
}
