// Whether the replicas with open tunnels to this one still run, and still have their ends of these tunnels. Each is
// asked every two seconds, because the bus says nothing of a peer that was killed, and nothing of one whose connection
// to the bus was lost for a moment, which ends all its tunnels.

import { randomBytes } from 'node:crypto';
import type { Clock } from '../../kernel/clock.ts';
import type { Caught } from '../../kernel/contain.ts';
import { type Bus, BusError, type BusMessage } from '../bus.ts';
import {
  answerBytes,
  mostNames,
  namesFrom,
  questionBytes,
  questionIn,
  unknownIn,
} from './life-words.ts';

export interface PeersLifeParts {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly subjects: string;
  /** This replica. */
  readonly id: string;
  readonly secret: Buffer;
  /** What this peer calls the tunnels that are open to it. */
  readonly namesAt: (peer: string) => readonly string[];
  /** Whether we have a tunnel that we call so. */
  readonly has: (name: string) => boolean;
  /** It runs no more. */
  readonly gone: (peer: string) => void;
  /** It runs, and has no tunnels any more that it called so. */
  readonly forgotten: (peer: string, names: ReadonlySet<string>) => void;
  readonly caught: Caught;
}

const everyMs = 2_000;
/** A peer that answers, answers at once. */
export const lifeMs = 2_000;
/** One that was late twice is gone. */
const latest = 2;

interface Peer {
  tunnels: number;
  late: number;
  /** The first name of the next question. */
  next: number;
  timer: Disposable | undefined;
}

export class PeersLife implements Disposable {
  readonly #parts: PeersLifeParts;
  /** Those with open tunnels, each until its last one ends. */
  readonly #peers = new Map<string, Peer>();
  readonly #subscription: Disposable;

  constructor(parts: PeersLifeParts) {
    this.#parts = parts;
    const { bus, subjects, id } = parts;
    this.#subscription = bus.subscribe(`${subjects}.life.${id}`, (message) => this.#asked(message));
  }

  /** A tunnel to this peer is open. */
  began(id: string): void {
    const peer = this.#peers.get(id) ?? { tunnels: 0, late: 0, next: 0, timer: undefined };
    peer.tunnels += 1;
    this.#peers.set(id, peer);
    if (peer.timer === undefined) this.#askLater(id, peer);
  }

  /** A tunnel to this peer has ended. */
  ended(id: string): void {
    const peer = this.#peers.get(id);
    if (peer === undefined) return;
    peer.tunnels -= 1;
    if (peer.tunnels > 0) return;
    peer.timer?.[Symbol.dispose]();
    this.#peers.delete(id);
  }

  /** One that names no tunnels only wants to know that we run. */
  #asked({ subject, body, answer }: BusMessage): void {
    const { secret, has } = this.#parts;
    const question = questionIn(secret, subject, body);
    if (question === undefined) return answer(new Uint8Array());
    const unknown = question.tunnels.filter((name) => !has(name));
    answer(answerBytes(secret, question, unknown));
  }

  #askLater(id: string, peer: Peer): void {
    const ask = () => void this.#ask(id, peer).catch(this.#parts.caught);
    peer.timer = this.#parts.clock.after(everyMs, ask, true);
  }

  async #ask(id: string, peer: Peer): Promise<void> {
    const { bus, subjects, secret, namesAt, gone, forgotten } = this.#parts;
    const [tunnels, next] = namesFrom(namesAt(id), peer.next, mostNames(bus.maxBytes));
    peer.next = next;
    const subject = `${subjects}.life.${id}`;
    const question = { subject, nonce: randomBytes(12).toString('hex'), tunnels };
    let unknown: readonly string[] = [];
    try {
      const answer = await bus.ask(subject, questionBytes(secret, question), lifeMs);
      unknown = unknownIn(secret, question, answer);
      peer.late = 0;
    } catch (error) {
      peer.late += error instanceof BusError && error.reason === 'absent' ? latest : 1;
    }
    if (this.#peers.get(id) !== peer) return;
    if (peer.late >= latest) return gone(id);
    this.#askLater(id, peer);
    if (unknown.length > 0) forgotten(id, new Set(unknown));
  }

  [Symbol.dispose](): void {
    this.#subscription[Symbol.dispose]();
    for (const { timer } of this.#peers.values()) timer?.[Symbol.dispose]();
    this.#peers.clear();
  }
}
