// holdfast broker: the embedded broker, which workers and orchestrators of a fleet connect to.

import type { Command } from 'commander';
import type { BrokerOptions } from '../broker-run.ts';
import type { Perform } from '../invocation.ts';
import { addNatsConfig } from './nats-config.ts';

const help = `
Workers on other machines reach an orchestrator through it. What it confirms is on the disk: letters survive a
crash of the broker until they are read. It lets in who has a credential (holdfast token add), and notices new,
revoked and expired ones by itself, within a second. On an address that is not loopback it needs TLS.
With --json it prints one line when it listens: {"url", "listen", "pid"}; "url" is for programs on this machine,
"listen" is the actual HOST:PORT. It ends on SIGINT or SIGTERM with exit code 0, when what it has taken is on
the disk; a second signal ends it at once.

Examples:
  holdfast token add --orchestrator boss
  holdfast token add --worker ann --role researcher --to boss
  holdfast broker --listen 127.0.0.1:4200
  holdfast broker --listen 0.0.0.0:4200 --dir /var/lib/broker --tls-cert cert.pem --tls-key key.pem`;

export function addBroker(program: Command, perform: Perform): void {
  const broker = program
    .command('broker')
    .summary('run the broker that connects workers with orchestrators')
    .description('Run the embedded broker: durable mailboxes for workers and orchestrators.')
    .option('--listen <HOST:PORT>', 'where to listen', '127.0.0.1:4200')
    .option('--dir <DIR>', 'where letters and credentials are; without it, a folder of this config')
    .option('--tls-cert <FILE>', 'the certificate, with those between it and its root (PEM)')
    .option('--tls-key <FILE>', 'its private key (PEM)')
    .addHelpText('after', help)
    .action((options: BrokerOptions, command: Command) =>
      perform(command, async (invocation) => {
        const { runBroker } = await import('../broker-run.ts');
        return await runBroker(invocation, options);
      }),
    );
  addNatsConfig(broker, perform);
}
