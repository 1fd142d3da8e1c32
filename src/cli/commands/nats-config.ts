// holdfast broker nats-config: the config of a NATS server that is the broker of a fleet. Its members are those of
// the broker's directory (holdfast token add); each gets a credential file for the NATS server.

import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { BrokerError } from '../../broker/broker-error.ts';
import { isCredentialRecord } from '../../broker/credentials/credential-record.ts';
import { natsConfig } from '../../broker/nats/nats-config.ts';
import { errnoOf } from '../../kernel/errno.ts';
import { Fault } from '../../kernel/fault.ts';
import { brokerPlace, withCredentials } from '../broker-place.ts';
import { exitCodes } from '../exit-codes.ts';
import { brokerFault } from '../fleet/broker-fault.ts';
import type { Invocation, Perform } from '../invocation.ts';
import { credentialFile, natsMembers } from '../nats-members.ts';
import { remark } from '../shell.ts';

const help = `
The members are those that holdfast token add --worker and --orchestrator have made. Each gets an account of its own
on the NATS server, and a credential file for HOLDFAST_TOKEN_FILE, which is used again the next time.
It needs nats-server 2.9 or newer, with JetStream. Members whose credential expires cannot be on a NATS server.

Examples:
  holdfast token add --orchestrator boss
  holdfast token add --worker ann --role researcher --to boss
  holdfast broker nats-config --out ./nats --store-dir /var/lib/nats > nats.conf
  nats-server -c nats.conf`;

interface NatsConfigWish {
  readonly dir?: string;
  readonly out?: string;
  readonly listen: string;
  readonly storeDir?: string;
}

export function addNatsConfig(broker: Command, perform: Perform): void {
  broker
    .command('nats-config')
    .summary('print the config of a NATS server for this fleet')
    .description('Print the config of a NATS server as the broker of this fleet.')
    .option(
      '--dir <DIR>',
      'where the credentials of the fleet are; without it, a folder of this config',
    )
    .option('--out <DIR>', "where the members' credential files go; without it, a folder in DIR")
    .option('--listen <HOST:PORT>', 'where the NATS server listens', '127.0.0.1:4222')
    .option(
      '--store-dir <DIR>',
      'where the NATS server keeps letters; without it, beside the files',
    )
    .addHelpText('after', help)
    .action((own: NatsConfigWish, command: Command) =>
      perform(command, (invocation) => printConfig(invocation, { ...own, ...given(broker) })),
    );
}

/** Options that the broker has, too, are taken by it, wherever they stand. */
function given(broker: Command): Partial<NatsConfigWish> {
  const wish: Partial<NatsConfigWish> = broker.opts();
  const { dir, listen } = wish;
  const isSaid = broker.getOptionValueSource('listen') === 'cli';
  return { ...(dir !== undefined && { dir }), ...(isSaid && listen !== undefined && { listen }) };
}

async function printConfig(
  { shell, configFile, isJson }: Invocation,
  wish: NatsConfigWish,
): Promise<number> {
  const place = await brokerPlace(shell, wish.dir, configFile);
  const entries = await withCredentials(shell, place, (records) => records.entries());
  const identities = entries.map(({ value }) => value).filter(isCredentialRecord);
  if (identities.length === 0) {
    throw new Fault(
      'not_found',
      'there are no members: add them with holdfast token add --orchestrator NAME and --worker NAME',
    );
  }
  const folder = resolve(shell.cwd, wish.out ?? join(place.folder, 'nats'));
  const storeDir = resolve(shell.cwd, wish.storeDir ?? join(folder, 'store'));
  const config = await made(async () =>
    natsConfig(await natsMembers(identities, folder), { storeDir, listen: wish.listen }),
  );
  const files = identities.map(({ mailbox }) => credentialFile(folder, mailbox));
  if (isJson) shell.out.json({ config, credentials: files });
  else {
    shell.out.write(config);
    remark(shell, `the credentials of ${identities.length} members are in ${folder}`);
  }
  return exitCodes.ok;
}

async function made<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof BrokerError) throw brokerFault(error);
    const code = errnoOf(error);
    if (code === undefined) throw error;
    throw new Fault('unavailable', `the credential files cannot be written (${code})`, {}, error);
  }
}
