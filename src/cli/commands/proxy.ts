// holdfast proxy: the tools of an orchestrator on another machine as an MCP server on standard input and output, for
// a worker. What it offers is what the orchestrator's config allows the role of the worker's credential.

import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { isMailbox } from '../../broker/address.ts';
import { errnoOf } from '../../kernel/errno.ts';
import { Fault } from '../../kernel/fault.ts';
import { brokerCredential, tokenFileVariable } from '../fleet/broker-credential.ts';
import type { Invocation, Perform } from '../invocation.ts';
import type { Shell } from '../shell.ts';

const help = `
The credential is in the file that ${tokenFileVariable} names: the secret that holdfast token add --worker
has printed, and nothing else; no other user may be able to read the file.
A link that is lost for less than ten seconds comes back by itself: calls that run meanwhile are answered
by it. None runs twice.

Example, in the config of an agent on the worker's machine:
  { "mcpServers": { "tools": { "command": "holdfast",
      "args": ["proxy", "--broker", "wss://broker.example:4200", "--to", "boss"],
      "env": { "${tokenFileVariable}": "/home/me/.holdfast-worker" } } } }`;

interface ProxyOptions {
  readonly broker: string;
  readonly to: string;
  readonly tlsCa?: string;
}

export function addProxy(program: Command, perform: Perform): void {
  program
    .command('proxy')
    .summary("serve an orchestrator's tools to a worker, through a broker")
    .description("An MCP server on standard input and output with an orchestrator's tools.")
    .requiredOption('--broker <URL>', 'the broker: ws://, wss://, nats:// or tls://HOST:PORT')
    .requiredOption('--to <NAME>', 'the orchestrator (serve --as NAME)')
    .option('--tls-ca <FILE>', 'a certificate to trust besides those of the system')
    .addHelpText('after', help)
    .action((options: ProxyOptions, command: Command) =>
      perform(command, (invocation) => proxy(invocation, options)),
    );
}

async function proxy({ shell }: Invocation, { broker, to, tlsCa }: ProxyOptions): Promise<number> {
  if (!isMailbox(to)) throw badMailbox('--to', to);
  const credential = await brokerCredential(shell, undefined);
  const ca = tlsCa === undefined ? undefined : certificateIn(shell, tlsCa);
  const { serveProxy } = await import('../fleet/serve-proxy.ts');
  return await serveProxy(shell, { broker, to, credential, ca });
}

export function badMailbox(option: string, name: string): Fault {
  return new Fault(
    'invalid_request',
    `${option} ${JSON.stringify(name)} is no name of a mailbox: use 1 to 64 of a-z, 0-9, "_", "." and "-", beginning with a letter or a digit`,
  );
}

export function certificateIn({ cwd }: Shell, file: string): string {
  let text: string;
  try {
    text = readFileSync(resolve(cwd, file), 'utf8');
  } catch (error) {
    throw new Fault('invalid_request', `--tls-ca ${file} cannot be read (${errnoOf(error)})`);
  }
  try {
    // Only the first one is looked at; what TLS does not accept of the others it refuses itself.
    new X509Certificate(text);
  } catch {
    throw new Fault(
      'invalid_request',
      `--tls-ca ${file} is no certificate in PEM: name the file that the broker was given with --tls-cert, or that of the authority which has signed it`,
    );
  }
  return text;
}
