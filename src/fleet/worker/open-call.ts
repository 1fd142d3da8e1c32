// A request of a worker that waits for its answer, and how far it has gone.

import type { BrokerError } from '../../broker/broker-error.ts';
import type { Mail } from '../../broker/contract.ts';
import type { Dispatched } from '../../kernel/fault.ts';
import type { Download } from './download.ts';

/** What its caller hears; none of these may throw. */
export interface CallListener {
  /** It may have reached the orchestrator from now on. */
  sent(): void;
  answered(response: Buffer): void;
  /** A notification that belongs to it. */
  news(notification: Buffer): void;
  failed(why: CallFailure): void;
}

export interface CallFailure {
  /** `gone`: it was answered, and the answer cannot be had any more. */
  readonly reason: 'refused' | 'exhausted' | 'closed' | 'damaged' | 'gone' | 'not_taken';
  readonly cause: BrokerError;
  readonly dispatched: Dispatched;
}

export interface CallRequest {
  /** The call id: the same each time that it is sent. */
  readonly id: string;
  readonly body: Buffer;
  /** It is kept by the broker until it is answered; false: it is told, and told again after a loss. */
  readonly isKept: boolean;
  /** It only listens: it waits for an orchestrator that is away for as long as it takes. */
  readonly isListening?: boolean;
  /** How long it is of use if nobody begins with it; undefined: until it is cancelled. */
  readonly ttlMs: number | undefined;
}

export interface OpenCall extends CallRequest {
  readonly listener: CallListener;
  /** Of the letter that asks for it: the same over links, another one where the answer is asked for once more. */
  letterId: string;
  /** On `Clock.now`. A request that is kept is not sent after it: the orchestrator may know its id no longer. */
  endsAt: number | undefined;
  /** As long as its answer is at the broker, it may be asked for again. */
  answerUntil: number;
  /** It was sent on the present link. */
  isSent: boolean;
  /** The broker has it on its disk: it need not be sent again. */
  isTaken: boolean;
  /** It was sent at all. */
  mayHaveArrived: boolean;
  /** It was sent again because its answer was gone. */
  isAskedAgain: boolean;
  /** The process that has taken it may be gone: it is asked for once more when its letter is over. */
  isDoubtful: boolean;
  download: Download | undefined;
  /** The announcement of what is downloaded, to be acknowledged at its end. */
  announcement: Mail | undefined;
  /** The orchestrator is not there; it is waited for until then. */
  absence: Disposable | undefined;
}
