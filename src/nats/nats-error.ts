// Why something at a NATS server was refused, or a connection to it has ended. Decided where it happens, from the
// type of an error, its code or a number of the server, never from the text of a message; but for one word of the
// protocol that has no number (`nats-client.ts`). Who uses a connection says which class of errors it wants (`Refuse`):
// the broker has one of its own, the store uses this one.

/**
 * - `unauthorized`: the server does not accept the credential
 * - `not_allowed`: the credential may not use that subject
 * - `not_nats`: what answers there is something else
 * - `unsupported`: it is a NATS server, and lacks what we need
 * - `absent`: nobody listens at that subject
 * - `timeout`: no answer came in time; it may or may not have been done
 * - `lost`: the connection has ended; what was not confirmed may or may not have arrived
 * - `closed`: we have closed it
 */
export type NatsRefusal =
  | 'unauthorized'
  | 'not_allowed'
  | 'not_nats'
  | 'unsupported'
  | 'absent'
  | 'timeout'
  | 'lost'
  | 'closed';

/** An error with the reason for it, in the words of whoever has made it. */
export interface Refused extends Error {
  readonly reason: string;
}

export type Refuse<E extends Refused> = (reason: NatsRefusal, detail: string) => E;

/** Trying again soon cannot help: somebody has to change something first. */
const permanent: ReadonlySet<NatsRefusal> = new Set<NatsRefusal>([
  'unauthorized',
  'not_allowed',
  'not_nats',
  'unsupported',
]);

export class NatsError extends Error implements Refused {
  override readonly name = 'NatsError';
  readonly reason: NatsRefusal;

  constructor(reason: NatsRefusal, detail: string) {
    super(detail);
    this.reason = reason;
  }

  get isPermanent(): boolean {
    return permanent.has(this.reason);
  }
}
