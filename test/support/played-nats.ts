// A real NATS server for a fleet whose gateway is played by the test: its mailboxes have room for the mail of a fleet, and
// for nothing else.

import { openNatsLink } from '../../src/broker/nats/nats-link.ts';
import { orchestratorKinds, workerKinds } from '../../src/fleet/mail-kinds.ts';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { members } from './broker-suite/subject.ts';
import { NatsServer, passwordOf } from './nats-server.ts';
import type { PlayedBroker } from './played-fleet.ts';

export async function playedNats(): Promise<PlayedBroker & { readonly url: string }> {
  const server = await NatsServer.start();
  const open: PlayedBroker['open'] = (member, seat, signal) => {
    const identity = members[member];
    const options = {
      ...{ url: server.url, identity, secret: passwordOf(member), seat, clock: systemClock },
      kinds: identity.kind === 'worker' ? workerKinds : orchestratorKinds,
      caught: (error: unknown) => {
        throw error;
      },
      report: () => {},
    };
    return openNatsLink(options, signal);
  };
  const never = new AbortController().signal;
  return {
    url: server.url,
    open,
    link: (member, seat) => open(member, seat, never),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
