// The members of a fleet for a NATS server: those who have a credential of the broker's directory, each with an nkey
// of its own, whose seed is in a credential file that only this user can read. A key belongs to one credential, by
// its id: the file is used again as long as that credential is there, so that the config can be printed after every
// new member. After a revoke the same name gets another key, and the file of a revoked credential is removed.

import { lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BrokerError } from '../broker/broker-error.ts';
import type { CredentialRecord } from '../broker/credentials/credential-record.ts';
import type { NatsMember } from '../broker/nats/nats-config.ts';
import {
  type NatsCredential,
  natsCredentialText,
  readNatsCredential,
} from '../broker/nats-credential.ts';
import { errnoOf } from '../kernel/errno.ts';
import { Fault } from '../kernel/fault.ts';
import { fileFlaw, othersMay } from '../kernel/own-file.ts';
import { loadNatsClient, type NatsClient } from '../nats/nats-client.ts';

export interface NatsFleet {
  readonly members: readonly NatsMember[];
  /** Files that were not there before. */
  readonly added: readonly string[];
  /** Files that were of another credential of the same mailbox, and have another key now. */
  readonly replaced: readonly string[];
  /** Nothing is changed before this is called. Throws an error with an errno. */
  write(): void;
}

const ending = '.credential';

/** The file of a member's credential. */
export function credentialFile(folder: string, mailbox: string): string {
  return join(folder, `${mailbox}${ending}`);
}

/** Throws an error with an errno, a BrokerError for a file that holds something else, or a Fault for one of others. */
export async function natsFleet(
  records: readonly CredentialRecord[],
  folder: string,
): Promise<NatsFleet> {
  const client = await loadNatsClient();
  const added: string[] = [];
  const replaced: string[] = [];
  const texts: { readonly file: string; readonly text: string }[] = [];
  const members = records.map((record): NatsMember => {
    const file = credentialFile(folder, record.mailbox);
    const found = credentialIn(file);
    const isItsOwn = found?.id === record.id;
    if (!isItsOwn) (found === undefined ? added : replaced).push(file);
    const secret = found !== undefined && isItsOwn ? found.secret : newSeed(client);
    if (!isItsOwn) texts.push({ file, text: natsCredentialText({ ...record, secret }) });
    const pair = client.nkeys.fromSeed(new TextEncoder().encode(secret));
    return { identity: record, credential: { nkey: pair.getPublicKey() } };
  });
  const write = () => {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    for (const { file, text } of texts) writeCredential(file, text);
  };
  return { members, added, replaced, write };
}

/** The files of mailboxes that have no credential any more; says which. Throws an error with an errno. */
export function removeStrays(
  records: readonly CredentialRecord[],
  folder: string,
): readonly string[] {
  const present = new Set(records.map(({ mailbox }) => credentialFile(folder, mailbox)));
  const strays = readdirSync(folder)
    .map((name) => join(folder, name))
    .filter((file) => file.endsWith(ending) && !present.has(file) && isOurs(folder, file));
  for (const file of strays) rmSync(file);
  return strays;
}

/** What only looks like one of ours stays. */
function isOurs(folder: string, file: string): boolean {
  try {
    const found = credentialIn(file);
    return found !== undefined && credentialFile(folder, found.mailbox) === file;
  } catch (error) {
    if (error instanceof BrokerError || error instanceof Fault) return false;
    throw error;
  }
}

/** Undefined if there is no such file. A seed that others could have put there, or read, is not used. */
function credentialIn(file: string): NatsCredential | undefined {
  try {
    const flaw = fileFlaw(lstatSync(file), othersMay.readOrChange);
    if (flaw === undefined) return readNatsCredential(readFileSync(file, 'utf8').trim());
    throw new Fault(
      'invalid_request',
      `the credential file ${file} ${flaw}: remove it, and a new key is made by the next holdfast broker nats-config`,
    );
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function newSeed({ nkeys }: NatsClient): string {
  return new TextDecoder().decode(nkeys.createUser().getSeed());
}

function writeCredential(file: string, text: string): void {
  rmSync(file, { force: true });
  writeFileSync(file, `${text}\n`, { mode: 0o600, flag: 'wx' });
}
