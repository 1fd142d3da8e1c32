// The bus between processes of one instance that have replaced each other. Each of them has a link to the one before it
// and to the one after it, and no others, so that they form a row. A message goes along the row to everybody; a request
// goes first toward the newest process, then toward the oldest, and the first one that listens answers it. Where nobody
// does, the asker is told so at once. What arrives may be of another version: a message that cannot be read is dropped.

import type { Clock } from '../kernel/clock.ts';
import type { Caught } from '../kernel/contain.ts';
import { contain } from '../kernel/contain.ts';
import { isRecord } from '../kernel/json-values.ts';
import { type Bus, BusError, type BusMessage } from './bus.ts';

/** What is used of a link between two processes. */
export interface NeighbourLink {
  send(kind: string, head: object, payload?: Uint8Array): void;
  on(kind: string, heard: (head: unknown, payload: Buffer) => void): Disposable;
  readonly isOpen: boolean;
  readonly closed: Promise<void>;
}

export interface NeighbourBusParts {
  readonly clock: Clock;
  readonly caught: Caught;
}

interface Subscription {
  readonly words: readonly string[];
  readonly group: string | undefined;
  readonly heard: (message: BusMessage) => void;
}

/** Answers a request; undefined: nobody listens. */
type Answer = (body: Uint8Array | undefined) => void;

interface Neighbour {
  readonly link: NeighbourLink;
  readonly side: 'former' | 'successor';
  subscription: Disposable | undefined;
  /** Requests that were sent to it, by number, until they are answered or it is gone. */
  readonly asked: Map<number, Answer>;
}

const kind = 'bus';
/** Far more than are under way at once: a request is answered in the turn in which it comes. */
const maxAsked = 65_536;

export class NeighbourBus implements Bus, Disposable {
  readonly maxBytes = 1_048_576;
  readonly #parts: NeighbourBusParts;
  /** Until they are disposed. */
  readonly #subscriptions = new Set<Subscription>();
  /** Until their links end; the successor first. */
  #neighbours: readonly Neighbour[] = [];
  #next = 1;
  #isClosed = false;

  constructor(parts: NeighbourBusParts) {
    this.#parts = parts;
  }

  /** The process that this one has replaced, or the one that replaces it. */
  join(link: NeighbourLink, side: 'former' | 'successor'): void {
    const { caught } = this.#parts;
    const neighbour: Neighbour = { link, side, asked: new Map(), subscription: undefined };
    const all = [...this.#neighbours, neighbour];
    this.#neighbours = all.sort((one, other) => rank(one) - rank(other));
    // What has come before is heard at once.
    neighbour.subscription = link.on(kind, (head, payload) =>
      contain(() => this.#arrived(neighbour, head, payload), caught),
    );
    link.closed.then(() => this.#left(neighbour)).catch(caught);
  }

  #left(neighbour: Neighbour): void {
    this.#neighbours = this.#neighbours.filter((one) => one !== neighbour);
    neighbour.subscription?.[Symbol.dispose]();
    for (const answer of [...neighbour.asked.values()]) answer(undefined);
    neighbour.asked.clear();
  }

  // --- what this process says --------------------------------------------------------------

  publish(subject: string, body: Uint8Array): void {
    if (this.#isClosed) return;
    this.#deliver(subject, body, () => {});
    this.#tell(subject, body, undefined);
  }

  ask(subject: string, body: Uint8Array, withinMs: number): Promise<Uint8Array> {
    if (this.#isClosed) return Promise.reject(new BusError('lost', 'this process ends'));
    return new Promise((resolve, reject) => {
      const late = () => reject(new BusError('late', 'no answer came in time'));
      const timer = this.#parts.clock.after(withinMs, late, true);
      this.#route(subject, body, undefined, (answer) => {
        timer[Symbol.dispose]();
        // As messages are heard, in a turn of its own: what came before it is heard before it.
        setImmediate(() => {
          if (answer === undefined) reject(new BusError('absent', `nobody listens at ${subject}`));
          else resolve(answer);
        });
      });
    });
  }

  subscribe(subject: string, heard: (message: BusMessage) => void, group?: string): Disposable {
    const one = { words: subject.split('.'), group, heard };
    this.#subscriptions.add(one);
    return { [Symbol.dispose]: () => void this.#subscriptions.delete(one) };
  }

  /** A link does not come back: whoever was behind it is gone. */
  onLoss(): Disposable {
    return { [Symbol.dispose]: () => {} };
  }

  onReturn(): Disposable {
    return { [Symbol.dispose]: () => {} };
  }

  // --- along the row -----------------------------------------------------------------------

  #tell(subject: string, body: Uint8Array, from: Neighbour | undefined): void {
    for (const to of this.#neighbours) {
      if (to !== from && to.link.isOpen) to.link.send(kind, { is: 'message', subject }, body);
    }
  }

  /** Here, or further along: first where it is newer. */
  #route(subject: string, body: Uint8Array, from: Neighbour | undefined, answer: Answer): void {
    const others = this.#neighbours.filter((one) => one !== from);
    const next = (): void => {
      const to = others.shift();
      if (to === undefined) return answer(undefined);
      if (!to.link.isOpen || to.asked.size >= maxAsked) return next();
      const number = this.#next++;
      to.asked.set(number, (body) => {
        to.asked.delete(number);
        if (body === undefined) next();
        else answer(body);
      });
      to.link.send(kind, { is: 'request', subject, number }, body);
    };
    let isAnswered = false;
    const once = (answered: Uint8Array) => {
      if (!isAnswered) answer(answered);
      isAnswered = true;
    };
    if (!this.#deliver(subject, body, once)) next();
  }

  /** Whether anybody here listens; each in a turn of its own. */
  #deliver(subject: string, body: Uint8Array, answer: (body: Uint8Array) => void): boolean {
    const words = subject.split('.');
    const groups = new Set<string>();
    const to = [...this.#subscriptions].filter(({ words: wanted, group }) => {
      if (!isMatch(wanted, words)) return false;
      if (group === undefined) return true;
      const isFirst = !groups.has(group);
      groups.add(group);
      return isFirst;
    });
    for (const { heard } of to) {
      setImmediate(() => contain(() => heard({ subject, body, answer }), this.#parts.caught));
    }
    return to.length > 0;
  }

  #arrived(from: Neighbour, head: unknown, payload: Buffer): void {
    if (!isRecord(head) || this.#isClosed) return;
    const { is, subject, number } = head;
    if (is === 'answer' || is === 'absent') {
      if (typeof number !== 'number') return;
      from.asked.get(number)?.(is === 'answer' ? payload : undefined);
      return;
    }
    if (typeof subject !== 'string') return;
    if (is === 'message') {
      this.#deliver(subject, payload, () => {});
      this.#tell(subject, payload, from);
    } else if (is === 'request' && typeof number === 'number') {
      this.#route(subject, payload, from, (body) => {
        if (!from.link.isOpen) return;
        const isAbsent = body === undefined;
        from.link.send(kind, { is: isAbsent ? 'absent' : 'answer', number }, body);
      });
    }
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#subscriptions.clear();
    for (const neighbour of this.#neighbours) this.#left(neighbour);
  }
}

/** The newest first. */
function rank({ side }: Neighbour): number {
  return side === 'successor' ? 0 : 1;
}

/** `*` stands for one word. */
function isMatch(wanted: readonly string[], words: readonly string[]): boolean {
  return (
    wanted.length === words.length && wanted.every((word, at) => word === '*' || word === words[at])
  );
}
