// Prints the config of a NATS server that is the broker of a fleet. Its members are those of the broker's directory
// (holdfast token add); each gets a credential file for the NATS server (`nats-members.ts`). What a server could not
// listen on is refused here, and what has changed for a server that runs is said.

import { join, resolve } from 'node:path';
import { BrokerError } from '../broker/broker-error.ts';
import {
  type CredentialRecord,
  memberName,
  storedCredentials,
} from '../broker/credentials/credential-record.ts';
import { type NatsConfigOptions, natsConfig } from '../broker/nats/nats-config.ts';
import { addressText, listenAddress } from '../downstream/http/access/listen-address.ts';
import { errnoOf } from '../kernel/errno.ts';
import { Fault } from '../kernel/fault.ts';
import { isLoopback } from '../kernel/loopback.ts';
import { brokerPlace, withCredentials } from './broker-place.ts';
import { type TlsOptions, tlsFiles } from './broker-tls.ts';
import { exitCodes } from './exit-codes.ts';
import { brokerFault } from './fleet/broker-fault.ts';
import type { Invocation } from './invocation.ts';
import { credentialFile, natsFleet, removeStrays } from './nats-members.ts';
import { remark, type Shell } from './shell.ts';
import { shellWord } from './shell-word.ts';

export interface NatsConfigWish extends TlsOptions {
  readonly dir?: string;
  readonly out?: string;
  readonly listen: string;
  readonly storeDir?: string;
}

export async function printNatsConfig(
  { shell, configFile, isJson }: Invocation,
  wish: NatsConfigWish,
): Promise<number> {
  const address = await addressOf(shell, wish);
  const place = await brokerPlace(shell, wish.dir, configFile);
  const stored = await withCredentials(shell, place, storedCredentials);
  const where = wish.dir === undefined ? '' : ` --dir ${shellWord(wish.dir)}`;
  const records = unexpired(shell, stored, where);
  if (records.length === 0) {
    throw new Fault(
      'not_found',
      `there are no members: add them with holdfast token add --orchestrator NAME${where}, and holdfast token add --worker NAME --role ROLE --to ORCHESTRATOR${where}`,
    );
  }
  const folder = resolve(shell.cwd, wish.out ?? join(place.folder, 'nats'));
  const storeDir = resolve(shell.cwd, wish.storeDir ?? join(folder, 'store'));
  const { config, ...changes } = await made(records, folder, { storeDir, where, ...address });
  if (isJson) {
    const credentials = records.map(({ mailbox }) => credentialFile(folder, mailbox));
    shell.out.json({ config, credentials, ...changes });
  } else {
    shell.out.write(config);
    remark(shell, `the credentials of ${records.length} members are in ${folder}`);
    sayChanges(shell, changes);
  }
  return exitCodes.ok;
}

/** Those whose time is over are left out: nobody is let in with them anyway. */
function unexpired(
  shell: Shell,
  stored: readonly CredentialRecord[],
  where: string,
): readonly CredentialRecord[] {
  const now = shell.clock.wallNow();
  return stored.filter((record) => {
    if (record.expiresAt === null || now < record.expiresAt) return true;
    const name = memberName(record);
    remark(
      shell,
      `the credential of ${name} has expired and is left out; remove it with: holdfast token revoke ${name}${where}`,
    );
    return false;
  });
}

/** Throws a Fault for what a NATS server could not listen on, or not with these files. */
async function addressOf(
  shell: Shell,
  { listen, tlsCert, tlsKey }: NatsConfigWish,
): Promise<Pick<NatsConfigOptions, 'listen' | 'tls'>> {
  const address = listenAddress(listen);
  const text = addressText(address);
  if (address.port === 0) {
    throw new Fault(
      'invalid_request',
      `a NATS server cannot listen on ${text}: its members have to know its port; write for example 127.0.0.1:4222`,
    );
  }
  const from = (file: string) => resolve(shell.cwd, file);
  const files = {
    ...(tlsCert !== undefined && { tlsCert: from(tlsCert) }),
    ...(tlsKey !== undefined && { tlsKey: from(tlsKey) }),
  };
  await tlsFiles(files);
  if (files.tlsCert !== undefined && files.tlsKey !== undefined) {
    return { listen: text, tls: { certFile: files.tlsCert, keyFile: files.tlsKey } };
  }
  if (!isLoopback(address.host)) {
    remark(
      shell,
      `the NATS server listens on ${text} without TLS: letters can be read on their way; set --tls-cert FILE and --tls-key FILE, or listen on 127.0.0.1`,
    );
  }
  return { listen: text };
}

interface Changes {
  readonly added: readonly string[];
  readonly replaced: readonly string[];
  readonly removed: readonly string[];
}

async function made(
  records: readonly CredentialRecord[],
  folder: string,
  options: NatsConfigOptions,
): Promise<Changes & { readonly config: string }> {
  try {
    const { members, added, replaced, write } = await natsFleet(records, folder);
    // Judged before anything is changed: nobody's key is replaced for a config that is not printed.
    const config = natsConfig(members, options);
    write();
    return { config, added, replaced, removed: removeStrays(records, folder) };
  } catch (error) {
    if (error instanceof BrokerError) throw brokerFault(error);
    const code = errnoOf(error);
    if (code === undefined) throw error;
    throw new Fault('unavailable', `the credential files cannot be written (${code})`, {}, error);
  }
}

function sayChanges(shell: Shell, { added, replaced, removed }: Changes): void {
  for (const file of replaced) {
    remark(shell, `${file} has a new key: the one before is revoked; give its member the new file`);
  }
  for (const file of removed)
    remark(shell, `${file} was removed: its credential is revoked, or has expired`);
  if (removed.length + replaced.length > 0) {
    remark(
      shell,
      'a NATS server that runs already goes on accepting revoked credentials until it has the new config: run nats-server --signal reload=PID',
    );
  }
  if (added.length + replaced.length === 0) return;
  remark(
    shell,
    'a NATS server that runs already lets new members work after its second reload: run nats-server --signal reload=PID twice, a second apart',
  );
}
