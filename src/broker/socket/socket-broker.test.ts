// The embedded broker with its WebSockets passes the suite; its store is kept in memory over restarts here (the
// database has the integration tests).

import { randomUUID } from 'node:crypto';
import { brokerSuite } from '../../../test/support/broker-suite/broker-suite.ts';
import { type BrokerSubject, members } from '../../../test/support/broker-suite/subject.ts';
import { systemClock } from '../../kernel/system-clock.ts';
import { MemoryStore } from '../../store/memory-store.ts';
import { Hub } from '../hub/hub.ts';
import { type HubServer, startHubServer } from './hub-server.ts';
import { openSocketLink } from './socket-link.ts';

brokerSuite({ name: 'the embedded broker', start });

async function start(): Promise<BrokerSubject> {
  const clock = systemClock;
  const store = new MemoryStore({ clock });
  const secrets = new Map(Object.entries(members).map(([name, one]) => [name, one]));
  const byMailbox = new Map(Object.values(members).map((one) => [one.mailbox as string, one]));
  const open = async (port: number): Promise<HubServer> => {
    const letters = store.log('letters', { durability: 'process' });
    const aside = store.log('aside', { durability: 'process' });
    const ownerOf = (mailbox: string) => byMailbox.get(mailbox);
    const hub = await Hub.open({ clock, letters, aside, ownerOf, report: () => {} });
    const caught = (error: unknown) => {
      throw error;
    };
    const authenticate = (secret: string) => secrets.get(secret);
    return startHubServer({ hub, clock, caught, host: '127.0.0.1', port, authenticate });
  };
  let server = await open(0);
  const { port } = server.address;
  const link = (secret: string, seat: string) => {
    const url = `ws://127.0.0.1:${port}/`;
    return openSocketLink({ url, secret, seat, clock }, new AbortController().signal);
  };
  return {
    link: (member, seat = randomUUID().slice(0, 8)) => link(member, seat),
    strangersLink: () => link('stranger', 's'),
    restart: async () => {
      await server.close();
      server = await open(port);
    },
    [Symbol.asyncDispose]: () => server.close(),
  };
}
