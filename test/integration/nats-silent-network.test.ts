// A network that carries what a NATS server says and not what we say: the server gives up waiting for our credential. That
// says nothing about the credential: the link is lost, and tried again soon.

import { expect, it } from 'vitest';
import { openNatsLink } from '../../src/broker/nats/nats-link.ts';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { members } from '../support/broker-suite/subject.ts';
import { LinkRelay } from '../support/link-relay.ts';
import { NatsServer, passwordOf } from '../support/nats-server.ts';

it('a server that has not heard our credential has not refused it #fleet #typed-faults', async () => {
  await using server = await NatsServer.start();
  await using relay = await LinkRelay.to(server.url);
  relay.damage('no-requests');
  const open = () =>
    openNatsLink(
      {
        url: relay.url,
        identity: members.boss,
        secret: passwordOf('boss'),
        seat: 'seat',
        kinds: ['note'],
        clock: systemClock,
        report: () => {},
        caught: (error) => {
          throw error;
        },
      },
      new AbortController().signal,
    );
  await expect(open()).rejects.toMatchObject({ reason: 'lost', isPermanent: false });
  relay.mend();
  await (await open()).close();
});
