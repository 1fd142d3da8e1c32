// holdfast broker nats-config: the command; what it does is in `nats-config-run.ts`.

import type { Command } from 'commander';
import type { Perform } from '../invocation.ts';
import type { NatsConfigWish } from '../nats-config-run.ts';

const help = `
The members are those that holdfast token add --worker and --orchestrator have made. Each gets an account of its own
on the NATS server, and a credential file for HOLDFAST_TOKEN_FILE, which is used again the next time. Who was revoked
and added again gets another key in that file, and the files of revoked members are removed.
A server that runs has to be reloaded twice after a change, a second apart: nats-server connects the accounts of new
members only with the second reload. With --tls-cert and --tls-key it is reached at tls://HOST:PORT.
It needs nats-server 2.9 or newer, with JetStream. Members whose credential expires cannot be on a NATS server.

Examples:
  holdfast token add --orchestrator boss
  holdfast token add --worker ann --role researcher --to boss
  holdfast broker nats-config --out ./nats --store-dir /var/lib/nats > nats.conf
  nats-server -c nats.conf
  nats-server --signal reload=PID; sleep 1; nats-server --signal reload=PID`;

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
      perform(command, async (invocation) => {
        const { printNatsConfig } = await import('../nats-config-run.ts');
        return await printNatsConfig(invocation, { ...own, ...given(broker) });
      }),
    );
}

/** Options that the broker has, too, are taken by it, wherever they stand. */
function given(broker: Command): Partial<NatsConfigWish> {
  const wish: Partial<NatsConfigWish> = broker.opts();
  const { dir, listen, tlsCert, tlsKey } = wish;
  const isSaid = broker.getOptionValueSource('listen') === 'cli';
  return {
    ...(dir !== undefined && { dir }),
    ...(isSaid && listen !== undefined && { listen }),
    ...(tlsCert !== undefined && { tlsCert }),
    ...(tlsKey !== undefined && { tlsKey }),
  };
}
