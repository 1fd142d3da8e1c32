// The limit on data that waits for slow clients, over all transports together. A client that reads
// everything does not count; one with waiting data has a share, counted as the memory it takes.
// Clients that read nothing may use half of the limit together; beyond that their connections are
// closed, the largest share first. When all shares together are too much, stored events are dropped
// first, then the connection with the largest share is closed. A pure function decides which
// connections are closed; transports report waiting bytes and how to close.

import type { Clock } from '../../kernel/clock.ts';

/** What a queued write takes beside its bytes: entries of Node's queue, their callbacks, a chunk's frame. */
export const writeOverheadBytes = 384;

export interface OutgoingPolicy {
  /** The whole. */
  readonly maxBytes: number;
  /** The share of all slow clients together. */
  readonly slowBytes: number;
  /** A client that has read less than `paceBytes` for this long is slow. */
  readonly patienceMs: number;
  readonly paceBytes: number;
}

export const outgoingPolicy: OutgoingPolicy = {
  maxBytes: 67_108_864,
  slowBytes: 33_554_432,
  patienceMs: 1_000,
  paceBytes: 65_536,
};

/** A connection on which something may wait. */
export interface Waiter {
  /** Bytes that were written and not taken yet. */
  readonly waitingBytes: number;
  /** Its client has used up its share: the connection is closed, and its requests are cancelled. */
  giveUp(): void;
}

/** One connection with something waiting, as it is judged. */
export interface ShareUse {
  readonly bytes: number;
  /** Since when its client has taken less than the pace. */
  readonly slowSince: number;
}

/**
 * The connections to close so that the rest fits, with some room; the largest first, slow ones
 * before the others.
 */
export function spent<S extends ShareUse>(
  shares: readonly S[],
  otherBytes: number,
  policy: OutgoingPolicy,
  now: number,
): readonly S[] {
  const isSlow = ({ slowSince }: S) => now - slowSince >= policy.patienceMs;
  const slow = shares.filter(isSlow);
  const chosen = largestBeyond(slow, bytesOf(slow), policy.slowBytes);
  const left = shares.filter((share) => !chosen.includes(share));
  const leftSlow = left.filter(isSlow);
  const total = bytesOf(left) + otherBytes;
  const moreSlow = largestBeyond(leftSlow, total, policy.maxBytes);
  const others = left.filter((share) => !isSlow(share));
  const stillTotal = total - bytesOf(moreSlow);
  return [...chosen, ...moreSlow, ...largestBeyond(others, stillTotal, policy.maxBytes)];
}

/** The largest of them, until the total is within the limit, and an eighth below. */
function largestBeyond<S extends ShareUse>(
  shares: readonly S[],
  total: number,
  limit: number,
): readonly S[] {
  if (total <= limit) return [];
  const chosen: S[] = [];
  let left = total;
  for (const share of [...shares].sort((one, other) => other.bytes - one.bytes)) {
    if (left <= limit * (7 / 8)) break;
    chosen.push(share);
    left -= share.bytes;
  }
  return chosen;
}

function bytesOf(shares: readonly ShareUse[]): number {
  return shares.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** What is stored for clients that may reconnect: it counts too, and is dropped first. */
export interface Savings {
  readonly bytes: number;
  /** Drops so many bytes, or all there are. */
  giveUp(bytes: number): void;
}

export class OutgoingBudget {
  readonly #clock: Clock;
  readonly #report: (line: string) => void;
  readonly #policy: OutgoingPolicy;
  /** Only connections on which something waits, so at most as many as there are connections. */
  readonly #shares = new Set<Share>();
  /** One for each listener. */
  readonly #savings: Savings[] = [];
  #bytes = 0;
  #closed = 0;
  /** Below this no connection has to be checked. */
  #lookFrom: number;
  #isChecking = false;

  constructor(
    clock: Clock,
    report: (line: string) => void = () => {},
    policy: OutgoingPolicy = outgoingPolicy,
  ) {
    this.#clock = clock;
    this.#report = report;
    this.#policy = policy;
    this.#lookFrom = Math.min(policy.slowBytes, policy.maxBytes);
  }

  /** What waits, as far as it was looked at; never too little. */
  get bytes(): number {
    return this.#bytes + this.#savedBytes;
  }

  /** Connections that were closed for the sake of the others. */
  get closed(): number {
    return this.#closed;
  }

  share(waiter: Waiter): Share {
    return new Share(waiter, this);
  }

  addSavings(savings: Savings): void {
    this.#savings.push(savings);
  }

  /** A share has grown or shrunk by so much. */
  changed(share: Share, bytes: number): void {
    if (share.bytes > 0) this.#shares.add(share);
    else this.#shares.delete(share);
    this.#bytes += bytes;
    if (bytes > 0) this.check();
  }

  now(): number {
    return this.#clock.now();
  }

  get paceBytes(): number {
    return this.#policy.paceBytes;
  }

  /** To be called after something has grown; nearly always one comparison. */
  check(): void {
    if (this.bytes <= this.#lookFrom || this.#isChecking) return;
    this.#isChecking = true;
    try {
      this.#settle();
    } finally {
      this.#isChecking = false;
    }
    // Where all of them read, the next check is due when there is more.
    const { slowBytes, maxBytes } = this.#policy;
    this.#lookFrom = Math.min(maxBytes, Math.max(slowBytes, this.bytes + maxBytes / 64));
  }

  #settle(): void {
    for (const share of [...this.#shares]) share.look();
    for (const savings of this.#savings) {
      const over = this.bytes - this.#policy.maxBytes;
      if (over > 0) savings.giveUp(over);
    }
    for (const share of spent([...this.#shares], this.#savedBytes, this.#policy, this.now())) {
      this.#closed += 1;
      this.#tell();
      share.giveUp();
    }
  }

  /** At every power of ten: a flood must not become a flood of lines. */
  #tell(): void {
    if (!Number.isInteger(Math.log10(this.#closed))) return;
    const times = this.#closed === 1 ? 'a connection was' : `${this.#closed} connections were`;
    this.#report(`too much data waits for clients that do not read; ${times} closed`);
  }

  get #savedBytes(): number {
    let bytes = 0;
    for (const savings of this.#savings) bytes += savings.bytes;
    return bytes;
  }
}

/** What one connection has waiting. */
export class Share implements ShareUse {
  bytes = 0;
  slowSince = 0;
  readonly #waiter: Waiter;
  readonly #budget: OutgoingBudget;
  #added = 0;
  #writes = 0;
  /** What the client had taken when it was last on pace. */
  #takenThen = 0;
  #isOver = false;

  constructor(waiter: Waiter, budget: OutgoingBudget) {
    this.#waiter = waiter;
    this.#budget = budget;
  }

  /** So many bytes were written; those that were taken at once do not count. */
  wrote(bytes: number): void {
    if (this.#isOver) return;
    if (this.bytes === 0 && this.#waiter.waitingBytes === 0) return;
    this.#added += bytes;
    this.#writes += 1;
    this.look();
  }

  /** Brings the count up to date. */
  look(): void {
    if (this.#isOver) return;
    const waiting = this.#waiter.waitingBytes;
    const before = this.bytes;
    const taken = this.#added - waiting;
    const isOnPace = before === 0 || taken - this.#takenThen >= this.#budget.paceBytes;
    if (isOnPace || waiting === 0) {
      this.#takenThen = taken;
      this.slowSince = this.#budget.now();
    }
    this.bytes = waiting === 0 ? 0 : waiting + this.#overhead(waiting);
    if (waiting === 0) this.#forgetWrites();
    if (this.bytes !== before) this.#budget.changed(this, this.bytes - before);
  }

  /** The connection has ended. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { bytes } = this;
    this.bytes = 0;
    if (bytes > 0) this.#budget.changed(this, -bytes);
  }

  giveUp(): void {
    this.end();
    this.#waiter.giveUp();
  }

  /** How many of the writes still wait is not known; they are taken to be of equal size. */
  #overhead(waiting: number): number {
    const averageBytes = Math.max(1, this.#added / Math.max(1, this.#writes));
    return Math.ceil(waiting / averageBytes) * writeOverheadBytes;
  }

  #forgetWrites(): void {
    this.#added = 0;
    this.#writes = 0;
    this.#takenThen = 0;
  }
}
