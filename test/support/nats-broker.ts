// NATS as a subject of the broker suite: a real server with the printed config, and links of the product.

import { randomUUID } from 'node:crypto';
import type { Link } from '../../src/broker/contract.ts';
import type { Identity } from '../../src/broker/identity.ts';
import { type NatsLinkOptions, openNatsLink } from '../../src/broker/nats/nats-link.ts';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { type BrokerSubject, type MemberName, members } from './broker-suite/subject.ts';
import { NatsServer, passwordOf } from './nats-server.ts';

export interface NatsBroker extends BrokerSubject {
  readonly server: NatsServer;
  /** With other options than usual. */
  linkWith(member: MemberName, options: Partial<NatsLinkOptions>): Promise<Link>;
  /** What links have reported to people. */
  readonly reports: readonly string[];
}

export async function startNatsBroker(): Promise<NatsBroker> {
  const server = await NatsServer.start();
  const reports: string[] = [];
  const now = new Map<MemberName, Identity>(Object.entries(members) as [MemberName, Identity][]);
  const memberOf = (member: MemberName) => now.get(member) ?? members[member];
  const linkWith = (member: MemberName, options: Partial<NatsLinkOptions>) =>
    openNatsLink(
      {
        url: server.url,
        identity: memberOf(member),
        secret: passwordOf(member),
        seat: randomUUID().slice(0, 8),
        kinds: ['note', 'other-mail'],
        clock: systemClock,
        caught: (error) => {
          throw error;
        },
        report: (text) => reports.push(text),
        ...options,
      },
      new AbortController().signal,
    );
  // A mailbox exists from its first link on.
  for (const member of Object.keys(members) as MemberName[]) {
    await (await linkWith(member, {})).close();
  }
  return {
    server,
    reports,
    linkWith,
    link: (member, seat = randomUUID().slice(0, 8)) => linkWith(member, { seat }),
    strangersLink: () => linkWith('ann', { secret: 'of nobody' }),
    restart: () => server.restart(),
    renew: async (member) => {
      now.set(member, { ...members[member], id: 'f'.repeat(16) });
      const fleet = [...now].map(([name, identity]) => ({
        identity,
        credential: { password: passwordOf(name) },
      }));
      await server.reloaded(fleet);
      await server.reloaded(fleet);
      await (await linkWith(member, {})).close();
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
