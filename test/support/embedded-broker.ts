// An embedded broker in this process, with its WebSockets on loopback, for the members of the suite. Its store is
// kept in memory over restarts.

import { randomUUID } from 'node:crypto';
import type { Link } from '../../src/broker/contract.ts';
import { Hub } from '../../src/broker/hub/hub.ts';
import type { HubLimits } from '../../src/broker/hub/limits.ts';
import type { Identity } from '../../src/broker/identity.ts';
import {
  type HubServer,
  type HubServerOptions,
  startHubServer,
} from '../../src/broker/socket/hub-server.ts';
import { openSocketLink } from '../../src/broker/socket/socket-link.ts';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { MemoryStore } from '../../src/store/memory-store.ts';
import { type BrokerSubject, type MemberName, members } from './broker-suite/subject.ts';

export interface EmbeddedBroker extends BrokerSubject {
  readonly url: string;
  /** A link that is given up where the signal says so. */
  open(member: MemberName, seat: string, signal: AbortSignal): Promise<Link>;
  /** Every link ends, and none can be opened until `start`. */
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Its credential is gone. */
  revoke(member: MemberName): void;
}

export async function startEmbeddedBroker(
  limits: Partial<HubLimits> = {},
  door: Pick<HubServerOptions, 'maxStrangers'> = {},
): Promise<EmbeddedBroker> {
  const clock = systemClock;
  const store = new MemoryStore({ clock });
  const secrets = new Map<string, Identity>();
  const byMailbox = new Map<string, Identity>();
  const admit = (name: MemberName, id: string) => {
    const identity = { ...members[name], id };
    secrets.set(name, identity);
    byMailbox.set(identity.mailbox, identity);
  };
  for (const name of Object.keys(members) as MemberName[]) admit(name, members[name].id);
  let hub: Hub | undefined;
  const listen = async (port: number): Promise<HubServer> => {
    const letters = store.log('letters', { durability: 'process' });
    const aside = store.log('aside', { durability: 'process' });
    const ownerOf = (mailbox: string) => byMailbox.get(mailbox);
    const opened = await Hub.open({ clock, letters, aside, ownerOf, report: () => {}, limits });
    const caught = (error: unknown) => {
      throw error;
    };
    const authenticate = (secret: string) => secrets.get(secret);
    hub = opened;
    const report = () => {};
    const at = { host: '127.0.0.1', port };
    return startHubServer({ hub: opened, clock, caught, ...at, authenticate, report, ...door });
  };
  let server: HubServer | undefined = await listen(0);
  const { port } = server.address;
  const url = `ws://127.0.0.1:${port}/`;
  const never = new AbortController().signal;
  const stop = async () => {
    await server?.close();
    server = undefined;
  };
  const start = async () => {
    server = await listen(port);
  };
  return {
    link: (secret, seat = randomUUID().slice(0, 8)) =>
      openSocketLink({ url, secret, seat, clock }, never),
    url,
    strangersLink: () => openSocketLink({ url, secret: 'stranger', seat: 's', clock }, never),
    open: (secret, seat, signal) => openSocketLink({ url, secret, seat, clock }, signal),
    restart: async () => {
      await stop();
      await start();
    },
    stop,
    start,
    revoke: (member) => {
      secrets.delete(member);
      byMailbox.delete(members[member].mailbox);
      hub?.credentialsChanged();
    },
    renew: async (member) => {
      admit(member, 'f'.repeat(16));
      hub?.credentialsChanged();
    },
    [Symbol.asyncDispose]: stop,
  };
}
