// What can be seen of a credential before anybody is asked: for which kind of broker it was made, and whether for a
// worker or an orchestrator. What is known about it is said here; whether it is valid only the broker knows.

import { BrokerError } from './broker-error.ts';
import type { Identity } from './identity.ts';
import { readNatsCredential } from './nats-credential.ts';

type Holder = Identity['kind'];

/** How those of the embedded broker begin. */
const embedded: readonly (readonly [string, Holder])[] = [
  ['hfw_', 'worker'],
  ['hfo_', 'orchestrator'],
];
const ofNats = 'hfn_';

/** What can stand in the header of a request. */
const alphabet = /^[\x21-\x7e]+$/;

/** The options of `token add`. */
const wordsFor = {
  worker: '--worker NAME --role ROLE --to ORCHESTRATOR',
  orchestrator: '--orchestrator NAME',
} as const satisfies Readonly<Record<Holder, string>>;

/** Throws a BrokerError if it is none, or made for another broker, or for somebody else. */
export function assertCredential(
  credential: string,
  broker: 'embedded' | 'nats',
  holder: Holder,
): void {
  const found = broker === 'nats' ? natsHolder(credential) : embeddedHolder(credential);
  if (found === undefined || found === holder) return;
  throw mismatch(
    `this is the credential of ${a(found)}, and ${a(holder)} is needed here: make one where the broker runs, with: holdfast token add ${wordsFor[holder]}`,
  );
}

function natsHolder(credential: string): Holder {
  if (embedded.some(([prefix]) => credential.startsWith(prefix))) {
    throw mismatch(
      'this credential is not one for a NATS server: use the file that holdfast broker nats-config has written',
    );
  }
  return readNatsCredential(credential).kind;
}

/** Undefined if that cannot be seen. */
function embeddedHolder(credential: string): Holder | undefined {
  if (credential.startsWith(ofNats)) {
    throw mismatch(
      'this credential is one for a NATS server: use a nats:// address, or a secret that holdfast token add has printed where the broker runs',
    );
  }
  if (!alphabet.test(credential)) {
    throw mismatch(
      'this credential has a character that none has, such as a space or the end of a line: use what holdfast token add has printed, and nothing else',
    );
  }
  return embedded.find(([prefix]) => credential.startsWith(prefix))?.[1];
}

function a(holder: Holder): string {
  return holder === 'worker' ? 'a worker' : 'an orchestrator';
}

function mismatch(words: string): BrokerError {
  return new BrokerError('unsupported', words);
}
