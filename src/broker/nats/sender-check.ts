// Whether the worker that has sent a kept letter still has the credential that it was sent with. A NATS server keeps a letter
// after the credential of its sender is revoked, so its reader asks before it is handed on: the config of the server lets an
// orchestrator write to the present credential of each of its workers and to no earlier one, so that an
// empty letter to that credential is refused when it is gone. The answer holds for half a second; letters keep their order.

import type { Clock } from '../../kernel/clock.ts';
import { type Caught, ignored } from '../../kernel/contain.ts';
import { isOfWorker } from '../address.ts';
import { BrokerError } from '../broker-error.ts';
import type { Sender } from '../contract.ts';
import { hereSubject } from './subjects.ts';
import type { ToldLetters } from './told-letters.ts';

export interface SenderCheckParts {
  readonly told: Pick<ToldLetters, 'tell' | 'settled' | 'remembers'>;
  /** Whether the link has ended: what it holds goes to others then. */
  readonly isOver: () => boolean;
  readonly self: Sender;
  readonly clock: Clock;
  /** Unexpected errors. */
  readonly caught: Caught;
}

interface Known {
  readonly askedAt: number;
  /** A promise until the server has answered. */
  readonly isCurrent: boolean | Promise<boolean>;
}

/** Running calls are watched by others: a credential that is revoked meanwhile is noticed there. */
const holdsMs = 500;
/** Beyond this the oldest is asked about again. */
const maxKnown = 4_096;
const nothing = new Uint8Array();

export class SenderCheck {
  readonly #parts: SenderCheckParts;
  /** By mailbox and credential, the one that was asked about last at the end; at most `maxKnown`. */
  readonly #known = new Map<string, Known>();
  /** The last letter that waits for an answer; undefined: none does. */
  #last: Promise<void> | undefined;

  constructor(parts: SenderCheckParts) {
    this.#parts = parts;
  }

  /**
   * Calls `go` with whether the credential of the sender is still there: at once if that is known and no earlier letter
   * waits; never, if the link ends before. `go` must not throw.
   */
  hand(sender: Sender, go: (isCurrent: boolean) => void): void {
    const isCurrent = isOfWorker(sender.mailbox) ? this.#isCurrent(sender) : true;
    if (typeof isCurrent === 'boolean' && this.#last === undefined) return this.#go(isCurrent, go);
    const waiting = Promise.all([isCurrent, this.#last])
      .then(([answer]) => this.#go(answer, go))
      .catch((error: unknown) => {
        // The link has ended: the letter comes again by another.
        if (!(error instanceof BrokerError)) this.#parts.caught(error);
      })
      .finally(() => {
        if (this.#last === waiting) this.#last = undefined;
      });
    this.#last = waiting;
  }

  /** Those that waited behind one whose answer was never given come here, too. */
  #go(isCurrent: boolean, go: (isCurrent: boolean) => void): void {
    if (!this.#parts.isOver()) go(isCurrent);
  }

  #isCurrent(sender: Sender): boolean | Promise<boolean> {
    const { clock, caught } = this.#parts;
    const key = `${sender.mailbox} ${sender.credential ?? ''}`;
    const known = this.#known.get(key);
    if (known !== undefined && clock.now() - known.askedAt < holdsMs) return known.isCurrent;
    const answer = this.#ask(sender);
    const asked = { askedAt: clock.now(), isCurrent: answer };
    this.#known.delete(key);
    this.#known.set(key, asked);
    const answered = (isCurrent: boolean) => {
      if (this.#known.get(key) === asked) this.#known.set(key, { ...asked, isCurrent });
    };
    answer.then(answered, ignored).catch(caught);
    const [oldest] = this.#known.keys();
    if (this.#known.size > maxKnown && oldest !== undefined) this.#known.delete(oldest);
    return answer;
  }

  /** Rejects with a BrokerError when the link has ended. */
  async #ask({ mailbox, credential }: Sender): Promise<boolean> {
    const { told, self } = this.#parts;
    const subject = hereSubject(mailbox, self, credential);
    for (;;) {
      let isCurrent: boolean | undefined;
      const number = told.tell(subject, nothing, undefined, ({ reason }) => {
        isCurrent = reason !== 'not_allowed';
      });
      await told.settled();
      if (isCurrent !== undefined) return isCurrent;
      if (told.remembers(number)) return true;
      // So many letters were told meanwhile that a refusal would not have been heard.
    }
  }
}
