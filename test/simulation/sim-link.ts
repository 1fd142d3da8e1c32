// The simulated link between two processes of a rollout: messages in order, as JSON and bytes, each after a while that
// the seed says. When one process is gone, or has closed its end, what it had said still arrives, and then the other
// one is told. A listener that throws ends the link, as in the real one; here nothing that is sent may be wrong, so
// that is a finding.

import type { Link } from '../../src/rollout/link.ts';
import type { JsonValue } from '../../src/rollout/link-frames.ts';
import type { Tether } from './tether.ts';
import type { World } from './world.ts';

type Heard = (head: unknown, payload: Buffer) => void;

export interface LinkEnds {
  /** The end of the process before. */
  readonly former: SimLinkEnd;
  readonly next: SimLinkEnd;
}

export function simLink(
  world: World,
  former: Tether,
  next: Tether,
  failed: (error: unknown) => void,
): LinkEnds {
  // On a busy machine everything takes longer.
  const longestMs = world.faults.occurs('link-slow') ? world.dice.between(100, 1_500) : 3;
  const parts = { world, longestMs, failed };
  const ends = {
    former: new SimLinkEnd({ ...parts, tether: former }),
    next: new SimLinkEnd({ ...parts, tether: next }),
  };
  ends.former.other = ends.next;
  ends.next.other = ends.former;
  return ends;
}

interface EndParts {
  readonly world: World;
  readonly longestMs: number;
  readonly tether: Tether;
  readonly failed: (error: unknown) => void;
}

export class SimLinkEnd implements Link {
  readonly closed: Promise<void>;
  readonly fault = undefined;
  other!: SimLinkEnd;
  readonly #parts: EndParts;
  readonly #listeners = new Map<string, Heard | null>();
  /** Of kinds that nobody listens to yet. */
  readonly #early = new Map<string, [unknown, Buffer][]>();
  /** When what was sent last arrives. */
  #lastAt = 0;
  #isOpen = true;
  #resolveClosed: () => void = () => {};

  constructor(parts: EndParts) {
    this.#parts = parts;
    this.closed = new Promise((resolve) => {
      this.#resolveClosed = resolve;
    });
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  send(kind: string, head: JsonValue, payload: Uint8Array = Buffer.alloc(0)): void {
    if (!this.#isOpen || this.#parts.tether.isCut) return;
    const [text, bytes] = [JSON.stringify(head), Buffer.from(payload)];
    this.#arrives(() => this.other.#receive(kind, JSON.parse(text), bytes));
  }

  on(kind: string, heard: Heard): Disposable {
    if (this.#listeners.get(kind)) throw new TypeError(`${kind} messages are listened to already`);
    this.#listeners.set(kind, heard);
    if (this.#early.has(kind)) queueMicrotask(() => this.#deliverEarly(kind));
    return {
      [Symbol.dispose]: () => {
        if (this.#listeners.get(kind) === heard) this.#listeners.set(kind, null);
      },
    };
  }

  /** Everything that was sent still arrives; nothing more is heard here. */
  [Symbol.dispose](): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#arrives(() => {
      this.#resolveClosed();
      this.other.#gone();
    });
  }

  /** Its process is gone. */
  lost(): void {
    this.#isOpen = false;
    this.#arrives(() => this.other.#gone());
  }

  fail(error: unknown): void {
    this.#parts.failed(error);
    this[Symbol.dispose]();
  }

  #gone(): void {
    this.#isOpen = false;
    if (!this.#parts.tether.isCut) this.#resolveClosed();
  }

  #arrives(arrive: () => void): void {
    const { clock, dice } = this.#parts.world;
    this.#lastAt = Math.max(this.#lastAt, clock.now() + dice.between(0, this.#parts.longestMs));
    clock.later(this.#lastAt - clock.now(), arrive);
  }

  #receive(kind: string, head: unknown, payload: Buffer): void {
    if (!this.#isOpen || this.#parts.tether.isCut) return;
    const listener = this.#listeners.get(kind);
    if (listener === null) return;
    const early = this.#early.get(kind);
    if (listener !== undefined && early === undefined) return this.#hear(listener, head, payload);
    if (early === undefined) this.#early.set(kind, [[head, payload]]);
    else early.push([head, payload]);
  }

  #deliverEarly(kind: string): void {
    for (const [head, payload] of this.#early.get(kind) ?? []) {
      const listener = this.#listeners.get(kind);
      if (listener) this.#hear(listener, head, payload);
    }
    this.#early.delete(kind);
  }

  #hear(listener: Heard, head: unknown, payload: Buffer): void {
    try {
      listener(head, payload);
    } catch (error) {
      this.fail(error);
    }
  }
}
