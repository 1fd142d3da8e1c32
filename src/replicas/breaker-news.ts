// Tells other replicas that a remote server fails, or works again, as this one has learnt by its calls. A replica that
// hears of a failing server opens its own breaker, so that not each of them has to fail five times. It is about servers
// that all of them reach at one address: a process that a replica has started for itself says nothing of another's.

import { createHmac } from 'node:crypto';
import type { Caught } from '../kernel/contain.ts';
import { isRecord } from '../kernel/json-values.ts';
import type { Bus, BusMessage } from './bus.ts';

/** A server as it is told about. */
export interface ToldServer {
  /** Everything that makes it this server and no other; null: it is this replica's alone. */
  readonly spec: string | null;
  told(circuit: 'open' | 'closed'): void;
}

export interface BreakerNewsParts {
  readonly bus: Bus;
  readonly subjects: string;
  /** This replica. */
  readonly id: string;
  /** The same at all replicas, and known to nobody else. */
  readonly secret: Buffer;
  readonly servers: () => readonly ToldServer[];
  readonly caught: Caught;
}

export class BreakerNews implements Disposable {
  readonly #parts: BreakerNewsParts;
  readonly #subscription: Disposable;
  /** What is told is not said again. */
  #isBeingTold = false;

  constructor(parts: BreakerNewsParts) {
    this.#parts = parts;
    const { bus, subjects } = parts;
    this.#subscription = bus.subscribe(`${subjects}.breaker`, (message) => this.#heard(message));
  }

  /** The breaker of this server has changed. */
  changed(spec: string | null, circuit: 'open' | 'closed' | 'half_open'): void {
    if (this.#isBeingTold || spec === null || circuit === 'half_open') return;
    const { bus, subjects, id } = this.#parts;
    const news = { from: id, server: this.#nameOf(spec), circuit };
    bus.publish(`${subjects}.breaker`, Buffer.from(JSON.stringify(news)));
  }

  #heard({ body }: BusMessage): void {
    const news = newsIn(body);
    if (news === undefined || news.from === this.#parts.id) return;
    for (const { spec, told } of this.#parts.servers()) {
      if (spec === null || this.#nameOf(spec) !== news.server) continue;
      this.#isBeingTold = true;
      try {
        told(news.circuit);
      } catch (error) {
        this.#parts.caught(error);
      } finally {
        this.#isBeingTold = false;
      }
    }
  }

  /** A server's entry may have a secret that could be guessed from a plain hash of it. */
  #nameOf(spec: string): string {
    const { secret } = this.#parts;
    return createHmac('sha256', secret).update(`breaker news ${spec}`).digest('base64url');
  }

  [Symbol.dispose](): void {
    this.#subscription[Symbol.dispose]();
  }
}

interface News {
  readonly from: string;
  readonly server: string;
  readonly circuit: 'open' | 'closed';
}

function newsIn(body: Uint8Array): News | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(body).toString());
    if (!isRecord(value)) return undefined;
    const { from, server, circuit } = value;
    if (typeof from !== 'string' || typeof server !== 'string') return undefined;
    return circuit === 'open' || circuit === 'closed' ? { from, server, circuit } : undefined;
  } catch {
    return undefined;
  }
}
