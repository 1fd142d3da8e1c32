// What a NATS store holds on to, here and on its server, when somebody has read a stream or watches no longer.

import { connect } from '@nats-io/transport-node';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { openSession } from '../../src/store/nats/session.ts';
import { readPage } from '../../src/store/nats/stream-reader.ts';
import { isWell, newNamespace, openNats, startPlainNats } from '../support/nats-store-place.ts';
import { until } from '../support/until.ts';

const caught = (error: unknown) => {
  throw error;
};

describe('a session with a NATS server', () => {
  it('holds nothing of the pages that were read, and ends those that are being read #no-growth #store-nats', async () => {
    await using server = await startPlainNats();
    const place = { url: server.url, namespace: newNamespace(), user: '', secret: undefined };
    const parts = { place, clock: systemClock, caught };
    const session = await openSession(parts, new AbortController().signal);
    const { wire, api } = session;
    await api.call('STREAM.CREATE.pages', { name: 'pages', subjects: ['pages'] });
    for (let number = 0; number < 5; number += 1) await wire.ask('pages', `${number}`);
    for (let read = 0; read < 50; read += 1) {
      const { messages } = await readPage(session, 'pages', { from: 1, limit: 5 });
      expect(messages.length).toBe(5);
    }
    // Consumers are deleted without waiting for it.
    await until(() => wire.waiting === 0, 'nobody waits for the end of the connection');
    const reading = readPage(session, 'pages', { from: 1, limit: 5 });
    const refused = expect(reading).rejects.toMatchObject({ reason: 'closed' });
    await session.close();
    await refused;
    expect(wire.waiting).toBe(0);
  });
});

describe('a watcher of a NATS store', () => {
  it('that has left before it was ready leaves no consumer behind #no-growth #store-watch', async () => {
    await using server = await startPlainNats();
    const namespace = newNamespace();
    await using store = openNats(`${server.url}/${namespace}`).store;
    await isWell(store);
    const records = store.records('things', { durability: 'durable' });
    let gaps = 0;
    const heard = () => {
      gaps += 1;
    };
    for (let left = 0; left < 5; left += 1) records.watch?.('', heard)[Symbol.dispose]();
    using _watch = records.watch?.('', heard);
    await until(() => gaps > 0, 'the one that stays is ready');
    const nats = await connect({ servers: server.url.replace('nats://', '') });
    const answer = await nats.request(`$JS.API.STREAM.INFO.hf_${namespace}_r_things`);
    await nats.close();
    expect(answer.json()).toMatchObject({ state: { consumer_count: 1 } });
    expect(gaps).toBe(1);
  });
});
