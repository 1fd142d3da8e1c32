// The link of a worker, over links that come and go: it is opened when something needs it, and opened again as soon as
// it has ended (`reconnection.ts` decides when, and when to give up). One of a kind at a time; what goes over it is the
// business of others (`channel.ts`).

import { BrokerError } from '../../broker/broker-error.ts';
import type { Link, OpenLink } from '../../broker/contract.ts';
import type { Clock, Random } from '../../kernel/clock.ts';
import { type Caught, ignored } from '../../kernel/contain.ts';
import {
  type Reconnection,
  type ReconnectionEffect,
  type ReconnectionEvent,
  type ReconnectionPolicy,
  stepReconnection,
  usualReconnection,
} from './reconnection.ts';

export type GivenUp = 'refused' | 'exhausted' | 'closed';

export interface LinkKeeperParts {
  readonly openLink: OpenLink;
  readonly clock: Clock;
  readonly random: Random;
  readonly policy?: ReconnectionPolicy | undefined;
  /** Asks a new link for the mail of its kinds, before anything else. Rejects with a BrokerError. */
  readonly prepare: (link: Link) => Promise<void>;
  /** There is a link: what waits can be sent. */
  readonly ready: () => void;
  /** A link has come after another had ended. */
  readonly returned: () => void;
  readonly lost: () => void;
  /** There is none, and for now it is not tried any more; what was wrong the last time. */
  readonly gaveUp: (why: GivenUp, cause: BrokerError) => void;
  /** Unexpected errors. */
  readonly caught: Caught;
}

const unexpected = new BrokerError('lost', 'the link could not be opened: an unexpected error');

export class LinkKeeper {
  readonly #parts: LinkKeeperParts;
  #state: Reconnection = { is: 'broken' };
  #link: Link | undefined;
  #opening: AbortController | undefined;
  #timer: Disposable | undefined;
  #limit: Disposable | undefined;
  #lastRefusal = new BrokerError('lost', 'there is no link to the broker');

  constructor(parts: LinkKeeperParts) {
    this.#parts = parts;
  }

  /** The last one that was opened; it may have ended just now. */
  get link(): Link | undefined {
    return this.#link;
  }

  get isClosed(): boolean {
    return this.#state.is === 'closed';
  }

  /** Something waits for a link. */
  need(): void {
    this.#happen({ is: 'needed', at: this.#parts.clock.now() });
  }

  async close(): Promise<void> {
    this.#happen({ is: 'close' });
    await this.#link?.close();
  }

  #happen(event: ReconnectionEvent): void {
    const policy = this.#parts.policy ?? usualReconnection;
    const [state, effects] = stepReconnection(this.#state, event, policy);
    this.#state = state;
    for (const effect of effects) this.#do(effect);
  }

  #do(effect: ReconnectionEffect): void {
    const { clock, ready, gaveUp } = this.#parts;
    switch (effect.do) {
      case 'open':
        return this.#open();
      case 'wait':
        this.#timer = clock.after(effect.ms, () => this.#happen({ is: 'elapsed' }));
        return;
      case 'limit':
        this.#limit = clock.after(effect.ms, () => this.#happen({ is: 'deadline' }));
        return;
      case 'release':
        this.#stopTimers();
        return ready();
      case 'abandon':
        this.#stopTimers();
        this.#opening?.abort();
        return;
      case 'fail':
        return gaveUp(effect.why, this.#lastRefusal);
    }
  }

  #stopTimers(): void {
    this.#timer?.[Symbol.dispose]();
    this.#limit?.[Symbol.dispose]();
  }

  #open(): void {
    const opening = new AbortController();
    this.#opening = opening;
    this.#opened(opening.signal).catch((error: unknown) => {
      const isKnown = error instanceof BrokerError;
      if (!isKnown) this.#parts.caught(error);
      if (opening.signal.aborted) return;
      this.#lastRefusal = isKnown ? error : unexpected;
      const { clock, random } = this.#parts;
      const { isPermanent } = this.#lastRefusal;
      this.#happen({ is: 'failed', at: clock.now(), isPermanent, random: random() });
    });
  }

  async #opened(signal: AbortSignal): Promise<void> {
    const { openLink, prepare, returned } = this.#parts;
    const link = await openLink(signal);
    try {
      await prepare(link);
      if (signal.aborted) throw new BrokerError('closed', 'not needed any more');
    } catch (error) {
      await link.close();
      throw error;
    }
    const wasThere = this.#link !== undefined;
    this.#link = link;
    link.ended.then((why) => this.#lost(link, why)).catch(ignored);
    this.#happen({ is: 'opened' });
    if (wasThere) returned();
  }

  #lost(link: Link, why: BrokerError): void {
    if (link !== this.#link) return;
    const { clock, lost } = this.#parts;
    this.#lastRefusal = why;
    lost();
    this.#happen({ is: 'lost', at: clock.now(), isPermanent: why.isPermanent });
  }
}
