// Tunnels between two replicas on a real NATS server, of which one loses its connection for a moment: both ends notice.

import type { Duplex } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { natsPlaceIn } from '../../src/nats/nats-address.ts';
import { NatsBus } from '../../src/replicas/nats-bus.ts';
import { Tunnels } from '../../src/replicas/tunnel/tunnels.ts';
import { newNamespace, startPlainNats } from '../support/nats-store-place.ts';
import { TcpRelay } from '../support/tcp-relay.ts';
import { until } from '../support/until.ts';

function replicaAt(address: string, id: string, accepted: (tunnel: Duplex) => void = () => {}) {
  const place = natsPlaceIn(address);
  if (place === undefined) throw new Error('it is no address');
  const caught = (error: unknown) => {
    throw error;
  };
  const bus = new NatsBus({ place, clock: systemClock, caught });
  const secret = Buffer.alloc(32, 'secret');
  const subjects = `hfr.${place.namespace}`;
  const tunnels = new Tunnels({ bus, clock: systemClock, subjects, id, secret, accepted, caught });
  tunnels.accept();
  onTestFinished(async () => {
    tunnels[Symbol.dispose]();
    await bus[Symbol.asyncDispose]();
  });
  return tunnels;
}

describe('a tunnel over a real NATS server', () => {
  it('ends at both ends when one of them has lost the server for a moment #replicas', async () => {
    await using nats = await startPlainNats();
    await using relay = await TcpRelay.to(nats.url);
    const namespace = newNamespace();
    const accepted: Duplex[] = [];
    const one = replicaAt(`${relay.url}/${namespace}`, 'aaaaaaaa', (tunnel) => {
      accepted.push(tunnel);
    });
    const other = replicaAt(`${nats.url}/${namespace}`, 'bbbbbbbb');
    const opened = async () => {
      const connected = await other.connect('aaaaaaaa');
      return typeof connected === 'string' ? undefined : connected.connection;
    };
    let tunnel: Duplex | undefined;
    await until(async () => {
      tunnel = await opened();
      return tunnel !== undefined;
    }, 'the tunnel to be opened');
    relay.cut();
    relay.restore();
    await until(() => accepted[0]?.destroyed === true, 'the end that was cut off to notice');
    await until(() => tunnel?.destroyed === true, 'the other end to notice');
    let next: Duplex | undefined;
    await until(async () => {
      next = await opened();
      return next !== undefined;
    }, 'another one to be opened');
    expect([next?.destroyed, one.size, other.size]).toEqual([false, 1, 1]);
  });
});

describe('a user who may not use the subjects between replicas', () => {
  it.each([
    ['publish', 'hfr.*.claim.>', /may not use the subject hfr\.[^.]+\.claim\./],
    ['subscribe', 'hfr.*.life.>', /may not use the subject hfr\.[^.]+\.life\./],
    ['subscribe', 'hfr.*.breaker', /may not use the subject hfr\.[^.]+\.breaker;/],
  ])(
    'is told so when it may not %s %s, once and by the subject #replicas',
    async (verb, denied, words) => {
      await using nats = await startPlainNats(
        `authorization { users: [ { user: a, password: b, permissions: { ${verb}: {`,
        `  deny: [${JSON.stringify(denied)}] } } } ] }`,
      );
      const address = `${nats.url.replace('nats://', 'nats://a:b@')}/${newNamespace()}`;
      const place = natsPlaceIn(address);
      if (place === undefined) throw new Error('it is no address');
      const reported: string[] = [];
      const report = (problem: string) => void reported.push(problem);
      const caught = (error: unknown) => {
        throw error;
      };
      await using bus = new NatsBus({ place, clock: systemClock, caught, report });
      const subjects = `hfr.${place.namespace}`;
      for (const word of ['life.aaaaaaaa', 'breaker'])
        bus.subscribe(`${subjects}.${word}`, () => {});
      await until(() => reported.length > 0, 'it to be reported');
      // When it has asked itself about everything, and been refused again.
      await bus.ask(`${subjects}.claim.aaaaaaaa`, new Uint8Array(), 5_000).catch(() => {});
      expect(reported).toEqual([expect.stringMatching(words)]);
    },
  );
});
