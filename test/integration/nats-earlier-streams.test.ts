// A mailbox on a NATS server whose streams an earlier Holdfast has made, with subjects that say less than the present
// ones, and one whose stream was made by somebody else. Against a real server.

import { connect, type NatsConnection } from '@nats-io/transport-node';
import { describe, expect, it } from 'vitest';
import { mailConfig } from '../../src/broker/nats/stream-config.ts';
import { members } from '../support/broker-suite/subject.ts';
import { type NatsBroker, startNatsBroker } from '../support/nats-broker.ts';
import { passwordOf } from '../support/nats-server.ts';
import { until } from '../support/until.ts';

const name = 'hf-mail-note';
const kinds = ['note', 'other-mail'];
type Answer = Readonly<Record<string, unknown>> & { readonly config: Record<string, unknown> };

/** The account of the orchestrator, in which its streams are. */
async function inAccount<T>(broker: NatsBroker, work: (nats: NatsConnection) => Promise<T>) {
  const { mailbox: user } = members.boss;
  const nats = await connect({
    servers: broker.server.url,
    user,
    pass: passwordOf('boss'),
    inboxPrefix: `_INBOX.${user}`,
  });
  try {
    return await work(nats);
  } finally {
    await nats.close();
  }
}

async function call(nats: NatsConnection, verb: string, body: object = {}): Promise<Answer> {
  return (await nats.request(`$JS.API.${verb}`, JSON.stringify(body))).json();
}

/** In place of those that the broker was started with, which are both gone then. */
async function replace(broker: NatsBroker, changed: (kind: string) => object): Promise<void> {
  await inAccount(broker, async (nats) => {
    for (const kind of kinds) await call(nats, `STREAM.DELETE.hf-mail-${kind}`);
    for (const kind of kinds) {
      const { max_msgs_per_subject: _, ...config } = mailConfig(members.boss, kind, {});
      const wanted = { ...config, discard_new_per_subject: false, ...changed(kind) };
      await until(async () => {
        const made = await call(nats, `STREAM.CREATE.hf-mail-${kind}`, wanted);
        return made['error'] === undefined;
      }, 'the stream is made');
    }
  });
}

const first = (kind: string) => ({ subjects: [`hf.mail.boss.${kind}.>`] });

describe('a stream that an earlier Holdfast has made', () => {
  it('gets the present subjects and limits: letters come through it, and it is said what cannot be read #broker-durable', async () => {
    await using broker = await startNatsBroker();
    await replace(broker, first);
    await inAccount(broker, async (nats) => {
      await call(nats, `CONSUMER.CREATE.${name}`, {
        stream_name: name,
        config: {
          durable_name: 'old',
          ack_policy: 'explicit',
          filter_subject: 'hf.mail.boss.note.~any.*.*.*',
        },
      });
      // The config of the server lets nobody write with the earlier subjects.
      const { config } = await call(nats, `STREAM.INFO.${name}`);
      const more = { ...config, subjects: ['hf.mail.boss.note.>', 'hf.own.boss.before'] };
      await call(nats, `STREAM.UPDATE.${name}`, more);
      await nats.request('hf.own.boss.before', 'of before');
      await call(nats, `STREAM.UPDATE.${name}`, config);
    });
    await using boss = await broker.link('boss');
    const got: string[] = [];
    await boss.receive('note', (mail) => {
      got.push(mail.body.toString());
      mail.ack();
    });
    await using ann = await broker.link('ann');
    const body = Buffer.from('of now');
    await ann.deliver({ id: 'l', to: members.boss.mailbox, kind: 'note', body });
    await until(() => got.length > 0, 'it is read');
    expect(got).toEqual(['of now']);
    const { config } = await inAccount(broker, (nats) => call(nats, `STREAM.INFO.${name}`));
    expect(config).toMatchObject({
      subjects: ['hf.mail.boss.*.note.>'],
      max_msgs_per_subject: 4_096,
      discard_new_per_subject: true,
    });
    expect(broker.reports).toEqual([
      expect.stringMatching(/^1 letter of the kind note in the mailbox boss .* cannot be read/),
    ]);
  });

  it('is taken over by the next link where a process has ended in between #broker-durable', async () => {
    await using broker = await startNatsBroker();
    await replace(broker, (kind) =>
      kind === 'note' ? { subjects: ['hf.own.boss.earlier.note'] } : first(kind),
    );
    await (await broker.link('boss')).close();
    const { config } = await inAccount(broker, (nats) => call(nats, `STREAM.INFO.${name}`));
    expect(config).toMatchObject({ subjects: ['hf.mail.boss.*.note.>'] });
    expect(broker.reports).toEqual([]);
  });
});

describe('a stream of the same name that somebody else has made', () => {
  it.each([
    [{ subjects: ['orders.>'] }, 'its subjects is ["orders.>"]'],
    [{ retention: 'limits' }, 'its retention is "limits"'],
  ])('is left alone, and it is said what is another: %j #command-line', async (changed, words) => {
    await using broker = await startNatsBroker();
    await replace(broker, (kind) => (kind === 'note' ? changed : {}));
    await expect(broker.link('boss')).rejects.toMatchObject({
      reason: 'unsupported',
      message: expect.stringContaining(words),
    });
    const { config } = await inAccount(broker, (nats) => call(nats, `STREAM.INFO.${name}`));
    expect(config).toMatchObject(changed);
  });
});
