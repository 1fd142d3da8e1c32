// Why a broker has refused something, or a link to it has ended. Decided where it happens, from a close code, a
// status, an errno or a frame, never from the text of a message.

/**
 * - `unauthorized`: the credential is wrong, revoked or expired
 * - `not_allowed`: this credential may not write to that mailbox
 * - `not_a_broker`: what answers there is something else
 * - `unsupported`: it is a broker, and lacks what we need
 * - `bad_letter`: the letter, or a frame around it, cannot be used
 * - `too_large`: its body is larger than the broker takes
 * - `full`: there is no room in that mailbox, or its reader does not keep up
 * - `absent`: nobody is there to be told
 * - `not_kept`: the disk of the broker has refused; it may or may not be stored
 * - `lost`: the link has ended; what was not confirmed may or may not have arrived
 * - `replaced`: a newer link has the same seat
 * - `other_store`: another link of this mailbox remembers calls in another place than this one
 * - `closed`: we have closed the link
 */
export type BrokerRefusal =
  | 'unauthorized'
  | 'not_allowed'
  | 'not_a_broker'
  | 'unsupported'
  | 'bad_letter'
  | 'too_large'
  | 'full'
  | 'absent'
  | 'not_kept'
  | 'lost'
  | 'replaced'
  | 'other_store'
  | 'closed';

const refusals: ReadonlySet<string> = new Set<BrokerRefusal>([
  'unauthorized',
  'not_allowed',
  'not_a_broker',
  'unsupported',
  'bad_letter',
  'too_large',
  'full',
  'absent',
  'not_kept',
  'lost',
  'replaced',
  'other_store',
  'closed',
]);

export function isBrokerRefusal(text: unknown): text is BrokerRefusal {
  return typeof text === 'string' && refusals.has(text);
}

/** Trying again soon cannot help: somebody has to change something first. */
const permanent: ReadonlySet<BrokerRefusal> = new Set<BrokerRefusal>([
  'unauthorized',
  'not_a_broker',
  'unsupported',
  'replaced',
  'other_store',
]);

export class BrokerError extends Error {
  override readonly name = 'BrokerError';
  readonly reason: BrokerRefusal;

  constructor(reason: BrokerRefusal, detail: string) {
    super(detail);
    this.reason = reason;
  }

  get isPermanent(): boolean {
    return permanent.has(this.reason);
  }
}

/** What to do for another credential, for who runs the broker. */
const makingOf = {
  embedded: 'holdfast token revoke NAME and holdfast token add, on that machine',
  nats: 'holdfast token revoke NAME, holdfast token add and holdfast broker nats-config, where its config is made, and a reload of the server',
} as const;

/** What may be wrong with a credential, and what to do. */
export function credentialWords(broker: keyof typeof makingOf): string {
  return `it is wrong, revoked or expired; who runs the broker can make another (${makingOf[broker]})`;
}

/** Whether it says why a link is there no longer, and nothing about the letter that waited. */
export function isEndOfLink({ reason, isPermanent }: BrokerError): boolean {
  return isPermanent || reason === 'lost' || reason === 'closed';
}
