// Which streams of a NATS server the store takes for its own, by their names and their subjects, and what it says of
// others; what it does where a stream is replaced by another of the same name, and when the first one is back.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { connect, headers, type NatsConnection } from '@nats-io/transport-node';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { natsPlaceIn } from '../../src/nats/nats-address.ts';
import { KeptStream } from '../../src/store/nats/kept-stream.ts';
import { openSession, type Session } from '../../src/store/nats/session.ts';
import { olderStreamName, type StreamSpec, streamName } from '../../src/store/nats/stream-names.ts';
import type { NatsServer } from '../support/nats-server.ts';
import { newNamespace, openNats, startPlainNats } from '../support/nats-store-place.ts';
import { until } from '../support/until.ts';

const durable = { durability: 'durable' } as const;

function specOf(namespace: string, word: StreamSpec['word'] = 'r', name = 'things'): StreamSpec {
  return { namespace, word, name, maxMessages: 1_000, isForgetful: false };
}

/** The server as its operator sees it. */
class Operator implements AsyncDisposable {
  readonly #nats: NatsConnection;
  readonly #server: NatsServer;

  private constructor(nats: NatsConnection, server: NatsServer) {
    this.#nats = nats;
    this.#server = server;
  }

  static async of(server: NatsServer): Promise<Operator> {
    const nats = await connect({ servers: server.url.replace('nats://', '') });
    return new Operator(nats, server);
  }

  async call(verb: string, body: object = {}): Promise<Record<string, unknown>> {
    return (await this.#nats.request(`$JS.API.${verb}`, JSON.stringify(body))).json();
  }

  /** From now on: how many requests there have been at this subject. */
  async counted(subject: string): Promise<() => Promise<number>> {
    let count = 0;
    const callback = () => {
      count += 1;
    };
    this.#nats.subscribe(subject, { callback });
    await this.#nats.flush();
    return async () => {
      await this.#nats.flush();
      return count;
    };
  }

  async delete(stream: string): Promise<void> {
    await this.call(`STREAM.DELETE.${stream}`);
    const files = join(this.#server.folder, 'store/jetstream/$G/streams', stream);
    await until(() => !existsSync(files), 'the files are removed');
  }

  /** The settings of a stream and its first message; returns what makes both again, under this name. */
  async backup(stream: string): Promise<(as?: string) => Promise<void>> {
    const { config } = (await this.call(`STREAM.INFO.${stream}`)) as { readonly config: object };
    const { message } = (await this.call(`STREAM.MSG.GET.${stream}`, { seq: 1 })) as {
      readonly message: Record<'subject' | 'data' | 'hdrs', string>;
    };
    const kept = headers();
    for (const line of Buffer.from(message.hdrs, 'base64').toString().split('\r\n').slice(1)) {
      const [name = '', value = ''] = line.split(': ');
      if (name !== '' && !name.startsWith('Nats-')) kept.set(name, value);
    }
    return async (as = stream) => {
      await until(async () => {
        const made = await this.call(`STREAM.CREATE.${as}`, { ...config, name: as });
        return made['error'] === undefined;
      }, 'the stream is made again');
      await this.#nats.request(message.subject, Buffer.from(message.data, 'base64'), {
        headers: kept,
        timeout: 5_000,
      });
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#nats.close();
  }
}

describe('the streams of a namespace', () => {
  it('have no name that a stream of another one can have #store-nats', async () => {
    await using server = await startPlainNats();
    const namespace = newNamespace();
    await using one = openNats(`${server.url}/${namespace}`).store;
    await using other = openNats(`${server.url}/${namespace}-p`).store;
    const big = 'x'.repeat(400_000);
    await one.records('things', durable).put('key', big);
    await other.records('things', durable).put('key', 'theirs');
    expect((await one.records('things', durable).get('key'))?.value).toBe(big);
    expect((await other.records('things', durable).get('key'))?.value).toBe('theirs');
  });

  it('are used by the name that they had before, where they are ours, and otherwise left alone #store-nats', async () => {
    await using server = await startPlainNats();
    await using operator = await Operator.of(server);
    const base = newNamespace();
    const namespace = `${base}-p`;
    const spec = specOf(namespace);
    const before = openNats(`${server.url}/${namespace}`).store;
    await before.records('things', durable).put('key', 'old');
    await before.close();
    const restore = await operator.backup(streamName(spec));
    await operator.delete(streamName(spec));
    await restore(olderStreamName(spec));
    await using store = openNats(`${server.url}/${namespace}`).store;
    expect((await store.records('things', durable).get('key'))?.value).toBe('old');
    await store.records('things', durable).put('more', 1);
    expect((await operator.call(`STREAM.INFO.${streamName(spec)}`))['error']).toBeDefined();
    // For the other namespace this is the older name of the stream with the parts of large values.
    expect(olderStreamName(specOf(base, 'p', 'r-things'))).toBe(olderStreamName(spec));
    await using other = openNats(`${server.url}/${base}`).store;
    const big = 'x'.repeat(400_000);
    await other.records('things', durable).put('key', big);
    expect((await other.records('things', durable).get('key'))?.value).toBe(big);
    expect((await store.records('things', durable).get('key'))?.value).toBe('old');
  });

  it('are refused where their subjects are those of another: it is said whose they are, and not to delete them #store-nats', async () => {
    await using server = await startPlainNats();
    await using operator = await Operator.of(server);
    const namespace = newNamespace();
    const name = streamName(specOf(namespace));
    await operator.call(`STREAM.CREATE.${name}`, { name, subjects: ['orders.>'] });
    await using store = openNats(`${server.url}/${namespace}`).store;
    const refused = await store
      .records('things', durable)
      .get('key')
      .catch((error: Error) => error.message);
    expect(refused).toContain('["orders.>"]');
    expect(refused).toContain('use another namespace');
    expect(refused).not.toContain('delete');
  });
});

describe('a stream that was made anew', () => {
  it('counts as damaged until the first one is restored, without a restart #store-nats', async () => {
    await using server = await startPlainNats();
    await using operator = await Operator.of(server);
    const namespace = newNamespace();
    const { store, problems } = openNats(`${server.url}/${namespace}`);
    await using _store = store;
    const records = store.records('things', durable);
    const name = streamName(specOf(namespace));
    await records.put('key', 'old');
    const restore = await operator.backup(name);
    await operator.delete(name);
    await until(
      () =>
        records
          .isWhole()
          .then((is) => !is)
          .catch(() => false),
      'it is noticed',
    );
    expect(store.health()).toMatchObject({ ok: false, isReached: true });
    await operator.delete(name);
    await restore();
    expect((await records.get('key'))?.value).toBe('old');
    expect([await records.isWhole(), store.health()]).toEqual([true, { ok: true }]);
    expect(problems.map(({ kind }) => kind)).toEqual(['damaged', 'recovered']);
  });

  it('loses nothing by an erasure that was meant for the one before #store-nats #durable', async () => {
    await using server = await startPlainNats();
    await using operator = await Operator.of(server);
    const namespace = newNamespace();
    const place = natsPlaceIn(`${server.url}/${namespace}`);
    if (place === undefined) throw new Error('it is no address');
    const caught = (error: unknown) => {
      throw error;
    };
    const parts = { place, clock: systemClock, caught };
    const session = await openSession(parts, new AbortController().signal);
    try {
      const [one, other] = [keptBy(session, namespace), keptBy(session, namespace)];
      const putThree = async (stream: KeptStream) => {
        for (const token of ['a', 'b', 'c']) await stream.publish({ token, body: token });
      };
      await putThree(one);
      const { messages } = await one.page({ from: 1, limit: 10 });
      await operator.delete(streamName(specOf(namespace)));
      await until(async () => {
        await putThree(other);
        return true;
      }, 'the other has made it anew');
      await one.erase(messages);
      expect((await other.state()).messages).toBe(3);
      await other.erase((await other.page({ from: 1, limit: 10 })).messages);
      expect((await other.state()).messages).toBe(0);
    } finally {
      await session.close();
    }
  });
});

describe('a stream that is full', () => {
  it('is gone through once for all that are refused, and not for each, and said to be so once #store-nats #no-growth', async () => {
    await using server = await startPlainNats();
    await using operator = await Operator.of(server);
    const namespace = newNamespace();
    const { store, problems } = openNats(`${server.url}/${namespace}`);
    await using _store = store;
    const records = store.records('things', { ...durable, maxEntries: 3 });
    for (const key of ['a', 'b', 'c']) await records.put(key, 1);
    const readings = await operator.counted(
      `$JS.API.CONSUMER.CREATE.${streamName(specOf(namespace))}.>`,
    );
    for (const round of [1, 2]) {
      const puts = Array.from({ length: 40 }, (_, index) => records.put(`${round}-${index}`, 1));
      const ended = await Promise.allSettled(puts);
      expect(ended.every(({ status }) => status === 'rejected')).toBe(true);
      expect(await readings()).toBe(1);
    }
    await records.put('a', 2);
    await records.remove('a');
    await records.put('d', 1);
    await expect(records.put('e', 1)).rejects.toMatchObject({ reason: 'full' });
    expect(problems.map(({ detail }) => detail)).toEqual([
      expect.stringContaining('there is no room for another value of "things"'),
    ]);
  });
});

function keptBy(session: Session, namespace: string): KeptStream {
  return new KeptStream({
    spec: specOf(namespace),
    session: async () => session,
    lost: () => {},
    restored: () => {},
    remembered: async (_stream, incarnation) => incarnation,
  });
}
