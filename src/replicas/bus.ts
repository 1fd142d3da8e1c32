// What replicas need to reach each other: messages to a subject, as they come, and requests with one answer. Nothing is
// kept: who is not there misses it. A bus comes back by itself after its connection was lost; whoever has to know what
// was missed is told of the loss.

/** Why a request has no answer. */
export type BusReason =
  /** Nobody listens there: whoever did is gone. */
  | 'absent'
  /** No answer came in time. */
  | 'late'
  /** The connection of the bus is lost, or its user has closed it. */
  | 'lost';

export class BusError extends Error {
  readonly reason: BusReason;

  constructor(reason: BusReason, message: string) {
    super(message);
    this.name = 'BusError';
    this.reason = reason;
  }
}

export interface BusMessage {
  readonly subject: string;
  readonly body: Uint8Array;
  /** Answers a request; does nothing for other messages. */
  answer(body: Uint8Array): void;
}

export interface Bus {
  /** Is lost without a word while the connection is; never throws. */
  publish(subject: string, body: Uint8Array): void;
  /** What one message may have, in bytes. */
  readonly maxBytes: number;
  /** Until it is disposed, also over a lost connection. With `group`, one of its members gets each message. */
  subscribe(subject: string, heard: (message: BusMessage) => void, group?: string): Disposable;
  /** Rejects with a BusError. */
  ask(subject: string, body: Uint8Array, withinMs: number): Promise<Uint8Array>;
  /** Called each time the connection is lost. */
  onLoss(lost: () => void): Disposable;
  /** Called each time the connection is there, the first time included, when everything subscribed is heard again. */
  onReturn(back: () => void): Disposable;
}
