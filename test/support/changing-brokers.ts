// Both brokers with credentials that are taken away and made again while a fleet runs, as an operator does it: the command
// `holdfast broker` with its directory, and a real nats-server that is reloaded. The member bob has a role, too.

import { randomBytes } from 'node:crypto';
import type { Link } from '../../src/broker/contract.ts';
import type { Identity } from '../../src/broker/identity.ts';
import { natsCredentialText } from '../../src/broker/nats-credential.ts';
import { BrokerProcess } from './broker-process.ts';
import { type MemberName, members } from './broker-suite/subject.ts';
import type { FleetBroker } from './fleet.ts';
import { linkOf } from './hostile-worker.ts';
import { NatsServer, passwordOf } from './nats-server.ts';

export interface ChangingBroker extends FleetBroker {
  /** With the present credential of this member. */
  link(member: MemberName, seat: string): Promise<Link>;
  revoke(member: MemberName): Promise<unknown>;
  /** Revoked, and added again with this role, in one step; the links of before end when the broker knows it. */
  readmit(member: MemberName, role: string): Promise<void>;
}

const names = Object.keys(members) as MemberName[];

async function embedded(roleOfBob: string): Promise<ChangingBroker> {
  const broker = await BrokerProcess.prepared();
  const readmit = async (member: MemberName, role: string) => {
    await broker.admit(member, { ...members[member], role });
  };
  await readmit('bob', roleOfBob);
  await broker.launch();
  return {
    url: broker.url,
    credential: (member) => broker.secretOf(member),
    link: (member, seat) => broker.link(member, seat),
    // What `holdfast token revoke` does.
    revoke: (member) => broker.revoke(members[member].mailbox),
    readmit,
    restart: () => broker.restart(),
    [Symbol.asyncDispose]: () => broker[Symbol.asyncDispose](),
  };
}

async function nats(roleOfBob: string): Promise<ChangingBroker> {
  const now = new Map<MemberName, Identity>(names.map((name) => [name, members[name]]));
  now.set('bob', { ...members.bob, role: roleOfBob });
  const fleet = () =>
    [...now].map(([name, identity]) => ({ identity, credential: { password: passwordOf(name) } }));
  const identityOf = (name: MemberName) => now.get(name) ?? members[name];
  const server = await NatsServer.start(fleet());
  return {
    url: server.url,
    credential: (name) => natsCredentialText({ ...identityOf(name), secret: passwordOf(name) }),
    link: (name, seat) => linkOf(server.url, identityOf(name), passwordOf(name), seat),
    revoke: async (member) => {
      now.delete(member);
      server.reload(fleet());
    },
    readmit: async (member, role) => {
      now.set(member, { ...members[member], role, id: randomBytes(8).toString('hex') });
      await server.reloaded(fleet());
      await server.reloaded(fleet());
    },
    restart: () => server.restart(),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

export const changingBrokers = { embedded, nats } as const;
