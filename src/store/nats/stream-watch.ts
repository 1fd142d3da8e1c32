// Follows the changes of one stream with keys: a consumer pushes the headers of each new message. With every new
// connection, and whenever a message may have been missed, the listeners are told to look again (`gap`).

import { randomBytes } from 'node:crypto';
import type { Msg } from '@nats-io/transport-node';
import { backoffMs } from '../../kernel/backoff.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Caught } from '../../kernel/contain.ts';
import { NatsError } from '../../nats/nats-error.ts';
import type { RecordChange, RecordsHeard } from '../contract/records.ts';
import { StoreError } from '../store-error.ts';
import { headerKeyOf } from './cells.ts';
import type { Connection } from './connection.ts';
import type { KeptStream } from './kept-stream.ts';
import type { Session } from './session.ts';
import { messageFrom } from './stored-message.ts';

export interface StreamWatchParts {
  readonly connection: Connection;
  readonly stream: KeptStream;
  readonly clock: Clock;
  readonly caught: Caught;
  /** It cannot be followed now: why. It is tried again. */
  readonly refused: (why: string) => void;
}

interface Listener {
  readonly prefix: string;
  readonly heard: RecordsHeard;
}

const beatNs = 2_000_000_000;
/** Without a word for this long the consumer is gone. */
const silentMs = 7_000;
const unusedNs = 30_000_000_000;
/** The rest of the connection works, and stays. */
const retries = { firstMs: 1_000, longestMs: 60_000 };

export class StreamWatch implements Disposable {
  readonly #parts: StreamWatchParts;
  /** Bound: those who watch, until they dispose of it. */
  readonly #listeners = new Set<Listener>();
  #following: Disposable | undefined;
  #subscription: Disposable | undefined;
  #timer: Disposable | undefined;
  /** Another one whenever what was followed is given up. */
  #round = 0;
  /** In a row. */
  #failures = 0;

  constructor(parts: StreamWatchParts) {
    this.#parts = parts;
  }

  add(prefix: string, heard: RecordsHeard): Disposable {
    const listener = { prefix, heard };
    this.#listeners.add(listener);
    this.#following ??= this.#parts.connection.onSession((session) => this.#follow(session));
    return {
      [Symbol.dispose]: () => {
        this.#listeners.delete(listener);
        if (this.#listeners.size === 0) this[Symbol.dispose]();
      },
    };
  }

  [Symbol.dispose](): void {
    this.#following?.[Symbol.dispose]();
    this.#following = undefined;
    this.#stop();
  }

  #follow(session: Session): void {
    this.#stop();
    const round = this.#round;
    this.#begin(session, round).catch((error: unknown) => {
      if (this.#round !== round || session.wire.over !== undefined) return;
      const isKnown = error instanceof StoreError || error instanceof NatsError;
      if (!isKnown) this.#parts.caught(error);
      this.#parts.refused(error instanceof Error ? error.message : String(error));
      this.#stop();
      const ms = backoffMs(retries, this.#failures);
      this.#failures += 1;
      const again = () => {
        if (session.wire.over === undefined) this.#follow(session);
      };
      this.#timer = this.#parts.clock.after(ms, again, true);
    });
  }

  async #begin(session: Session, round: number): Promise<void> {
    const { stream } = this.#parts;
    // Made now if it is not there, and looked at again if it was made anew.
    await stream.state();
    if (this.#round !== round) return;
    const { wire, api } = session;
    const inbox = wire.newInbox();
    const name = `hfw${randomBytes(8).toString('hex')}`;
    let delivered = 0;
    const heard = (message: Msg) => {
      if (this.#round !== round) return;
      this.#waitForBeat(session);
      const change = messageFrom(message);
      if (change === undefined) return;
      const isNext = change.number === delivered + 1;
      delivered = change.number;
      const key = headerKeyOf(change);
      this.#tell(isNext && key !== undefined ? { kind: 'changed', key } : { kind: 'gap' });
    };
    this.#subscription = wire.subscribe(inbox, heard);
    const config = {
      name,
      deliver_subject: inbox,
      deliver_policy: 'new',
      ack_policy: 'none',
      replay_policy: 'instant',
      headers_only: true,
      idle_heartbeat: beatNs,
      inactive_threshold: unusedNs,
      mem_storage: true,
    };
    const request = { stream_name: stream.name, config };
    await api.call(`CONSUMER.CREATE.${stream.name}.${name}`, request).catch((error: unknown) => {
      throw api.known(error);
    });
    if (this.#round !== round) return;
    this.#failures = 0;
    this.#waitForBeat(session);
    // Whatever has happened before now was not told.
    this.#tell({ kind: 'gap' });
  }

  #waitForBeat(session: Session): void {
    this.#timer?.[Symbol.dispose]();
    const silent = () => {
      if (session.wire.over === undefined) this.#follow(session);
    };
    this.#timer = this.#parts.clock.after(silentMs, silent, true);
  }

  #stop(): void {
    this.#round += 1;
    this.#subscription?.[Symbol.dispose]();
    this.#timer?.[Symbol.dispose]();
    this.#subscription = undefined;
    this.#timer = undefined;
  }

  #tell(change: RecordChange): void {
    for (const { prefix, heard } of this.#listeners) {
      if (change.kind === 'gap' || change.key.startsWith(prefix)) heard(change);
    }
  }
}
