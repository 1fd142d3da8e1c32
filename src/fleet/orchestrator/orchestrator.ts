// An orchestrator's link to the broker, kept open (`link-supervision.ts` decides when it is opened again), and what
// is served by it (`broker-front.ts`). Calls that run when a link ends go on, and what is still to be said
// of them goes by the next link. A refusal that somebody has to mend is reported once.

import { BrokerError } from '../../broker/broker-error.ts';
import type { Link, OpenLink } from '../../broker/contract.ts';
import type { Clock, Random } from '../../kernel/clock.ts';
import { type Caught, ignored } from '../../kernel/contain.ts';
import type { BrokerState } from '../../observe/broker-state.ts';
import type { BrokerFront } from './broker-front.ts';
import {
  beginSupervision,
  type Supervision,
  type SupervisionEffect,
  type SupervisionEvent,
  type SupervisionPolicy,
  stepSupervision,
  usualSupervision,
} from './link-supervision.ts';

export interface OrchestratorParts {
  readonly address: Pick<BrokerState, 'url' | 'as'>;
  readonly openLink: OpenLink;
  readonly front: BrokerFront;
  readonly clock: Clock;
  readonly random: Random;
  /** For people, one line. */
  readonly report: (text: string) => void;
  /** The gateway takes no new work: that its broker ends with it is no news. */
  readonly isEnding: () => boolean;
  readonly caught: Caught;
  readonly policy?: SupervisionPolicy;
}

export class Orchestrator implements AsyncDisposable {
  readonly #parts: OrchestratorParts;
  readonly #ending = new AbortController();
  #supervision: Supervision;
  #link: Link | undefined;
  #timer: Disposable | undefined;
  #state: BrokerState['state'] = 'connecting';
  /** Wall time. */
  #since: number;
  #why: BrokerError | undefined;
  #lastError: BrokerState['lastError'] = null;
  #links = 0;

  private constructor(parts: OrchestratorParts) {
    this.#parts = parts;
    this.#supervision = { is: 'stopped' };
    this.#since = parts.clock.wallNow();
  }

  /** Returns at once; the link is opened meanwhile. */
  static start(parts: OrchestratorParts): Orchestrator {
    const orchestrator = new Orchestrator(parts);
    orchestrator.#took(beginSupervision(parts.clock.now()));
    return orchestrator;
  }

  get state(): BrokerState {
    const { address, front } = this.#parts;
    return {
      url: address.url,
      as: address.as,
      state: this.#state,
      since: this.#since,
      lastError: this.#lastError,
      links: this.#links,
      workers: this.#link === undefined ? 0 : front.workers,
    };
  }

  /** How many workers have requests that run, also while there is no link. */
  get busy(): number {
    return this.#parts.front.workers;
  }

  /** The process that has the link has heard that a worker has cancelled this. */
  cancel(key: string): void {
    this.#parts.front.cancel(key);
  }

  async close(): Promise<void> {
    const link = this.#link;
    this.#happen({ is: 'shutdown' });
    await link?.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #happen(event: SupervisionEvent): void {
    this.#took(stepSupervision(this.#supervision, event, this.#parts.policy ?? usualSupervision));
  }

  #took([state, effects]: readonly [Supervision, readonly SupervisionEffect[]]): void {
    this.#supervision = state;
    for (const effect of effects) this.#do(effect);
  }

  #do(effect: SupervisionEffect): void {
    const { clock } = this.#parts;
    switch (effect.do) {
      case 'open':
        this.#open().catch(this.#parts.caught);
        return;
      case 'wait':
        this.#timer = clock.after(
          effect.ms,
          () => this.#happen({ is: 'elapsed', at: clock.now() }),
          true,
        );
        return;
      case 'close':
        this.#become('closed');
        this.#timer?.[Symbol.dispose]();
        this.#ending.abort();
        return;
    }
  }

  async #open(): Promise<void> {
    let link: Link | undefined;
    try {
      link = await this.#parts.openLink(this.#ending.signal);
      await this.#parts.front.serve(link);
    } catch (error) {
      link?.close().catch(ignored);
      if (!(error instanceof BrokerError)) this.#parts.caught(error);
      return this.#ended(
        error instanceof BrokerError ? error : new BrokerError('lost', String(error)),
      );
    }
    if (this.#ending.signal.aborted) return await link.close();
    this.#link = link;
    this.#links += 1;
    this.#become('connected');
    if (this.#why !== undefined) this.#parts.report('connected to the broker again');
    this.#why = undefined;
    this.#ended(await link.ended);
  }

  #become(state: BrokerState['state']): void {
    if (this.#state === state) return;
    this.#state = state;
    this.#since = this.#parts.clock.wallNow();
  }

  #ended(why: BrokerError): void {
    const wasConnected = this.#link !== undefined;
    this.#link = undefined;
    if (this.#ending.signal.aborted) return;
    const { clock, random, report, isEnding } = this.#parts;
    const { isPermanent } = why;
    const isTold = this.#why !== undefined && this.#why.reason === why.reason && !wasConnected;
    if (!isTold && !isEnding()) report(lossText(why));
    this.#why = why;
    this.#lastError = { text: why.message, at: clock.wallNow() };
    this.#become(isPermanent ? 'refused' : 'lost');
    this.#happen({ is: 'ended', at: clock.now(), isPermanent, random: random() });
  }
}

function lossText(why: BrokerError): string {
  if (!why.isPermanent) return `no link to the broker, trying again: ${why.message}`;
  return `the broker refuses this gateway, trying again every half minute: ${why.message}`;
}
