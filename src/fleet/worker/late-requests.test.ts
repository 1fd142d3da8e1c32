// A request whose time is over is not sent again, because the orchestrator may have forgotten its call id and would run
// it a second time. On a link that does what the test says, and a clock that the test moves.

import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { BrokerError } from '../../broker/broker-error.ts';
import type { Letter, Link, MailReader } from '../../broker/contract.ts';
import { askAgainMs, isAgainLetter } from '../call-ids.ts';
import { mailKinds } from '../mail-kinds.ts';
import { gonePart, parcelOf, parcelReply, partBody, partBytes } from '../parcel.ts';
import { Channel } from './channel.ts';
import type { CallFailure } from './open-call.ts';

/** A link that writes down what is delivered; `takes`: whether the broker confirms it. */
class PlayedLink {
  readonly delivered: Letter[] = [];
  /** Places of parts that were asked for. */
  readonly pulled: number[] = [];
  readonly #readers = new Map<string, MailReader>();
  readonly face: Link;
  end: (why: BrokerError) => void = () => {};

  constructor(takes: boolean) {
    const face: Partial<Link> = {
      ended: new Promise((resolve) => {
        this.end = resolve;
      }),
      receive: async (kind, reader) => void this.#readers.set(kind, reader),
      deliver: (letter) => {
        this.delivered.push(letter);
        return takes ? Promise.resolve() : new Promise(() => {});
      },
      tell: ({ kind, body }) => {
        if (kind === mailKinds.pull) this.pulled.push(Number(body.readBigUInt64BE()));
      },
      present: async () => ['boss'],
      close: async () => {},
    };
    this.face = face as Link;
  }

  come(kind: string, body: Buffer, ttlMs?: number, seat = 's'): void {
    const from = { mailbox: 'boss', seat, role: null };
    const rest = { isKept: true, ack: () => {}, setAside: () => {} };
    this.#readers.get(kind)?.({ id: 'x', about: 'call', from, kind, body, ttlMs, ...rest });
  }
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

async function opened(links: readonly PlayedLink[], ttlMs: number) {
  const clock = new ManualClock();
  const waiting = [...links];
  const failures: CallFailure[] = [];
  const answers: Buffer[] = [];
  const channel = new Channel({
    openLink: () =>
      new Promise((resolve) => {
        const next = waiting.shift();
        // The first is there at once, the next one after a while.
        clock.after(next === links[0] ? 0 : 3_000, () => next && resolve(next.face));
      }),
    to: 'boss',
    clock,
    random: () => 0,
    maxResponseBytes: 10_000_000,
    missed: () => {},
    gaveUp: () => {},
    caught: (error) => {
      throw error;
    },
  });
  const listener = {
    sent: () => {},
    answered: (response: Buffer) => void answers.push(response),
    news: () => {},
    failed: (why: CallFailure) => void failures.push(why),
  };
  channel.send({ id: 'call', body: Buffer.from('x'), isKept: true, ttlMs }, listener);
  await settled();
  clock.advance(0);
  await settled();
  return { clock, channel, failures, answers };
}

/** `process-link` of the orchestrator. */
function here(link: PlayedLink, announcement: string, seat = 's'): void {
  link.come(mailKinds.here, Buffer.from(announcement), undefined, seat);
}

describe('a request that was taken, and whose letter is over', () => {
  it('is asked for by another letter when another process of the orchestrator comes #broker-once', async () => {
    const link = new PlayedLink(true);
    const { clock, channel, answers } = await opened([link], 60_000);
    here(link, 'one-1');
    clock.advance(60_000);
    here(link, 'one-2');
    await settled();
    // The first that was heard of may have been another one: it was asked then.
    expect(link.delivered).toHaveLength(2);
    clock.advance(60_000);
    here(link, 'one-3');
    await settled();
    expect(link.delivered).toHaveLength(2);
    here(link, 'two-1');
    here(link, 'two-1');
    await settled();
    expect(link.delivered).toHaveLength(3);
    expect(new Set(link.delivered.map(({ id }) => id)).size).toBe(3);
    expect(link.delivered.map(({ about }) => about)).toEqual(['call', 'call', 'call']);
    expect(link.delivered.map((letter) => isAgainLetter(letter))).toEqual([false, true, true]);
    link.come(mailKinds.reply, Buffer.from('its outcome'));
    expect(answers.map(String)).toEqual(['its outcome']);
    await channel.close();
  });

  it('is not asked for as long as its letter lives, which the next process gets #broker-once', async () => {
    const link = new PlayedLink(true);
    const { clock, channel } = await opened([link], 60_000);
    here(link, 'one-1');
    here(link, 'two-1');
    clock.advance(59_999);
    await settled();
    expect(link.delivered).toHaveLength(1);
    clock.advance(5_000);
    await settled();
    expect(link.delivered).toHaveLength(2);
    await channel.close();
  });

  it('is asked for when the link was away, and once for each replica that comes #broker-once', async () => {
    const [first, second] = [new PlayedLink(true), new PlayedLink(true)] as const;
    const { clock, channel } = await opened([first, second], 1_000);
    first.end(new BrokerError('lost', 'as the test says'));
    await settled();
    clock.advance(3_000);
    await settled();
    expect(second.delivered.map((letter) => isAgainLetter(letter))).toEqual([true]);
    for (const seat of ['a', 'b', 'a']) {
      clock.advance(askAgainMs);
      here(second, `${seat}-1`, seat);
      await settled();
    }
    expect(second.delivered).toHaveLength(3);
    await channel.close();
  });
});

describe('a request that is kept', () => {
  it.each([
    { ttlMs: 60_000, sentAgain: 1, failed: [] },
    { ttlMs: 2_000, sentAgain: 0, failed: [['not_taken', 'maybe']] },
  ])(
    'is sent by the next link within its time of $ttlMs ms only #broker-once',
    async ({ ttlMs, sentAgain, failed }) => {
      const [first, second] = [new PlayedLink(false), new PlayedLink(true)] as const;
      const { clock, channel, failures } = await opened([first, second], ttlMs);
      expect(first.delivered).toHaveLength(1);
      first.end(new BrokerError('lost', 'as the test says'));
      await settled();
      clock.advance(3_000);
      await settled();
      expect(second.delivered).toHaveLength(sentAgain);
      // The broker knows it as the same letter.
      const letters = [...first.delivered, ...second.delivered];
      expect(new Set(letters.map(({ id }) => id)).size).toBe(1);
      expect(failures.map(({ reason, dispatched }) => [reason, dispatched])).toEqual(failed);
      await channel.close();
    },
  );

  it.each([
    { after: 4_000, letters: 2, lives: 1_000, failed: [] },
    { after: 5_000, letters: 1, lives: 60_000, failed: ['gone yes'] },
  ])(
    'asks for its answer again only while the broker would have it ($after ms) #broker-once',
    async ({ after, letters, lives, failed }) => {
      const link = new PlayedLink(true);
      const { clock, channel, failures } = await opened([link], 60_000);
      link.come(mailKinds.reply, parcelReply(parcelOf(Buffer.alloc(600_000, 'x'))), 5_000);
      clock.advance(after);
      link.come(mailKinds.chunk, gonePart());
      await settled();
      expect(link.delivered).toHaveLength(letters);
      expect(link.delivered.at(-1)?.ttlMs).toBe(lives);
      // It is about the same call, and another letter: a broker may still know the one that was answered.
      expect(new Set(link.delivered.map(({ about }) => about))).toEqual(new Set(['call']));
      expect(new Set(link.delivered.map(({ id }) => id)).size).toBe(letters);
      const ends = failures.map(({ reason, dispatched }) => `${reason} ${dispatched}`);
      expect(ends).toEqual(failed);
      await channel.close();
    },
  );

  it('fetches only what is missing of an answer that it has asked for again #fleet', async () => {
    const link = new PlayedLink(true);
    const { channel, answers, failures } = await opened([link], 60_000);
    const whole = Buffer.alloc(3 * partBytes, 'x');
    const announce = () => link.come(mailKinds.reply, parcelReply(parcelOf(whole)), 600_000);
    announce();
    link.come(mailKinds.chunk, partBody(whole, partBytes));
    link.come(mailKinds.chunk, gonePart());
    await settled();
    expect(link.delivered).toHaveLength(2);
    link.pulled.length = 0;
    announce();
    expect(link.pulled).toEqual([0, 2 * partBytes]);
    for (const offset of link.pulled) link.come(mailKinds.chunk, partBody(whole, offset));
    expect([answers.map((one) => one.equals(whole)), failures]).toEqual([[true], []]);
    await channel.close();
  });

  it('has run if its answer is gone for the second time #broker-once', async () => {
    const link = new PlayedLink(true);
    const { channel, failures } = await opened([link], 60_000);
    for (let times = 0; times < 2; times += 1) {
      link.come(mailKinds.reply, parcelReply(parcelOf(Buffer.alloc(600_000, 'x'))), 600_000);
      link.come(mailKinds.chunk, gonePart());
      await settled();
    }
    expect(failures).toMatchObject([{ reason: 'gone', dispatched: 'yes' }]);
    await channel.close();
  });
});
