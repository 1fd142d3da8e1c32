// Brokers with credentials for many workers, which are made by the functions of the product and not by commands.

import type { Identity } from '../../src/broker/identity.ts';
import { natsCredentialText } from '../../src/broker/nats-credential.ts';
import { BrokerProcess } from '../support/broker-process.ts';
import { type MemberName, members } from '../support/broker-suite/subject.ts';
import type { FleetBroker } from '../support/fleet.ts';
import { NatsServer, passwordOf, suiteMembers } from '../support/nats-server.ts';

export interface CrowdBroker {
  readonly broker: FleetBroker;
  /** Of the broker's process. */
  readonly pid: number;
  /** One for each worker, as its file would hold it. */
  readonly credentials: readonly string[];
}

const starts = { command: startCommand, nats: startNats } as const;

export function startCrowdBroker(name: keyof typeof starts, workers: number): Promise<CrowdBroker> {
  const identities = Array.from({ length: workers }, (_, at) => identityOf(at));
  return starts[name](identities);
}

function identityOf(at: number): Identity {
  const mailbox = `worker-${at}.mcp`;
  return { mailbox, kind: 'worker', role: 'reader', to: ['boss'], expiresAt: null };
}

async function startCommand(identities: readonly Identity[]): Promise<CrowdBroker> {
  const broker = await BrokerProcess.prepared();
  const credentials: string[] = [];
  for (const identity of identities) {
    credentials.push(await broker.admit(identity.mailbox, identity));
  }
  await broker.launch();
  const credential = (member: MemberName) => broker.secretOf(member);
  return { broker: Object.assign(broker, { credential }), pid: broker.pid, credentials };
}

async function startNats(identities: readonly Identity[]): Promise<CrowdBroker> {
  const crowd = identities.map((identity) => ({
    identity,
    credential: { password: `of ${identity.mailbox}` },
  }));
  const server = await NatsServer.start([...suiteMembers, ...crowd]);
  const credential = (member: MemberName) =>
    natsCredentialText({ ...members[member], secret: passwordOf(member) });
  return {
    broker: {
      get url() {
        return server.url;
      },
      credential,
      restart: () => server.restart(),
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    },
    pid: server.pid,
    credentials: crowd.map(({ identity, credential: { password } }) =>
      natsCredentialText({ ...identity, secret: password }),
    ),
  };
}
