// The brokers of the measurement, as processes: the bare relay, `holdfast broker` with its database, and a nats-server
// with the printed config and one account without rules beside it.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { natsConfig } from '../../src/broker/nats/nats-config.ts';
import { natsCredentialText } from '../../src/broker/nats-credential.ts';
import { BrokerProcess } from '../../test/support/broker-process.ts';
import { type MemberName, members } from '../../test/support/broker-suite/subject.ts';
import { NatsServer, passwordOf, suiteMembers } from '../../test/support/nats-server.ts';
import type { Places } from './way.ts';

const relayProgram = fileURLToPath(new URL('./bare-relay.mjs', import.meta.url));

export interface Brokers extends AsyncDisposable {
  readonly places: Places;
}

export async function startBrokers(): Promise<Brokers> {
  const relay = await startRelay();
  const embedded = await BrokerProcess.start();
  const nats = await NatsServer.start(suiteMembers, configWithBare);
  return {
    places: {
      relay: { url: relay.url, requester: '', responder: '' },
      embedded: {
        url: embedded.url,
        requester: embedded.secretOf('ann'),
        responder: embedded.secretOf('boss'),
      },
      bareNats: { url: nats.url, requester: 'bare', responder: 'bare' },
      nats: { url: nats.url, requester: natsCredential('ann'), responder: natsCredential('boss') },
    },
    [Symbol.asyncDispose]: async () => {
      for (const one of [relay, embedded, nats]) await one[Symbol.asyncDispose]();
    },
  };
}

function natsCredential(member: MemberName): string {
  return natsCredentialText({ ...members[member], secret: passwordOf(member) });
}

function configWithBare(storeDir: string): string {
  const account = 'accounts {\n  bare { users: [ { user: bare, password: bare } ] }';
  return natsConfig(suiteMembers, { storeDir }).replace('accounts {', account);
}

async function startRelay(): Promise<AsyncDisposable & { readonly url: string }> {
  const child = spawn(process.execPath, [relayProgram], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [port] = (await once(createInterface(child.stdout), 'line')) as [string];
  return {
    url: `ws://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
  };
}
