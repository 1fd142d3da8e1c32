// The members of a fleet for a NATS server: those who have a credential of the broker's directory, each with an nkey
// of its own, whose seed is in a credential file that only this user can read. A file that is there is used again, so
// that the config can be printed after every new member.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Identity } from '../broker/identity.ts';
import type { NatsMember } from '../broker/nats/nats-config.ts';
import { natsCredentialText, readNatsCredential } from '../broker/nats-credential.ts';
import { errnoOf } from '../kernel/errno.ts';
import { loadNatsClient, type NatsClient } from '../nats/nats-client.ts';

/** The file of a member's credential. */
export function credentialFile(folder: string, mailbox: string): string {
  return join(folder, `${mailbox}.credential`);
}

/** Throws an error with an errno, or a BrokerError for a file that holds something else. */
export async function natsMembers(
  identities: readonly Identity[],
  folder: string,
): Promise<readonly NatsMember[]> {
  const client = await loadNatsClient();
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return identities.map((identity) => {
    const file = credentialFile(folder, identity.mailbox);
    const seed = seedIn(file) ?? newSeed(client, identity, file);
    const pair = client.nkeys.fromSeed(new TextEncoder().encode(seed));
    return { identity, credential: { nkey: pair.getPublicKey() } };
  });
}

function seedIn(file: string): string | undefined {
  try {
    return readNatsCredential(readFileSync(file, 'utf8').trim()).secret;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function newSeed({ nkeys }: NatsClient, identity: Identity, file: string): string {
  const secret = new TextDecoder().decode(nkeys.createUser().getSeed());
  writeFileSync(file, `${natsCredentialText({ ...identity, secret })}\n`, {
    mode: 0o600,
    flag: 'wx',
  });
  return secret;
}
