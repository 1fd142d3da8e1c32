// Whether the sender of a kept letter still has its credential: what the server is asked, how long its answer holds, and that
// letters keep their order meanwhile. With a server that answers when the test says so.

import { describe, expect, it } from 'vitest';
import { manualClock, settled } from '../../../test/support/manual-clock.ts';
import { BrokerError } from '../broker-error.ts';
import { SenderCheck } from './sender-check.ts';

const self = { mailbox: 'boss', seat: 's', role: null } as const;
const of = (mailbox: string, credential: string) => ({ mailbox, credential, seat: 'x', role: 'r' });
const ann = of('ann.mcp', '00000000000000a0');

function checked(isGone: (subject: string) => boolean = () => false) {
  const clock = manualClock();
  const asked: string[] = [];
  const isSilent = { now: false, forgotten: 0 };
  const link = { isOver: false };
  const answers: { resolve: () => void; reject: (why: BrokerError) => void }[] = [];
  const told: ConstructorParameters<typeof SenderCheck>[0]['told'] = {
    tell: (subject, _body, _headers, refused) => {
      asked.push(subject);
      if (isGone(subject)) refused(new BrokerError('not_allowed', 'as the test says'));
      else if (!isSilent.now) refused(new BrokerError('absent', 'it has no link now'));
      return asked.length;
    },
    remembers: (number) => number !== isSilent.forgotten,
    settled: () => new Promise((resolve, reject) => answers.push({ resolve, reject })),
  };
  const caught = (error: unknown) => {
    throw error;
  };
  const check = new SenderCheck({ told, self, clock, caught, isOver: () => link.isOver });
  const handed: string[] = [];
  const hand = (name: string, sender: Parameters<SenderCheck['hand']>[0]) =>
    check.hand(sender, (isCurrent) => handed.push(`${name} ${isCurrent ? 'read' : 'dropped'}`));
  return { clock, asked, answers, handed, hand, link, isSilent };
}

describe('a kept letter of a worker', () => {
  it('is read when the server lets us write to its credential, with or without a link #revoked', async () => {
    const { asked, answers, handed, hand } = checked();
    hand('one', ann);
    await settled();
    expect(handed).toEqual([]);
    expect(asked).toEqual(['hf.tell.ann~mcp.00000000000000a0.~here.~all.boss.~none.~none.s']);
    answers[0]?.resolve();
    await settled();
    expect(handed).toEqual(['one read']);
  });

  it('is dropped when the server refuses that, also if another credential of its name is there #revoked', async () => {
    const { answers, handed, hand } = checked((subject) => subject.includes('00000000000000a0'));
    hand('old', ann);
    hand('new', of('ann.mcp', '00000000000000a9'));
    for (const { resolve } of answers) resolve();
    await settled();
    expect(handed).toEqual(['old dropped', 'new read']);
  });

  it('waits for those before it, and is asked about once in half a second #revoked', async () => {
    const { clock, asked, answers, handed, hand } = checked();
    hand('first', ann);
    hand('second', of('bob.mcp', '00000000000000a1'));
    hand('third', ann);
    hand('of the orchestrator', { ...self, mailbox: 'other' });
    answers[1]?.resolve();
    await settled();
    expect([handed, asked.length]).toEqual([[], 2]);
    answers[0]?.resolve();
    await settled();
    expect(handed).toEqual(['first read', 'second read', 'third read', 'of the orchestrator read']);
    hand('at once', ann);
    expect([handed.at(-1), asked.length]).toEqual(['at once read', 2]);
    clock.advance(500);
    hand('later', ann);
    expect([handed.at(-1), asked.length]).toEqual(['at once read', 3]);
  });

  it('is neither read nor dropped when the link ends before the answer: it comes again by another', async () => {
    const { answers, handed, hand } = checked(() => true);
    hand('one', ann);
    answers[0]?.reject(new BrokerError('lost', 'as the test says'));
    await settled();
    expect(handed).toEqual([]);
  });

  it('is neither read nor dropped by a link that ends while it waits behind another #broker-lease', async () => {
    const { answers, handed, hand, link } = checked();
    hand('known', ann);
    answers[0]?.resolve();
    await settled();
    hand('asked about', of('bob.mcp', '00000000000000a1'));
    hand('behind it', ann);
    link.isOver = true;
    answers[1]?.reject(new BrokerError('lost', 'as the test says'));
    await settled();
    expect(handed).toEqual(['known read']);
    hand('later', ann);
    expect(handed).toEqual(['known read']);
  });

  it('is asked about again where a refusal would not have been heard #revoked', async () => {
    const gone = { now: false };
    const { asked, answers, handed, hand, isSilent } = checked(() => gone.now);
    isSilent.now = true;
    isSilent.forgotten = 1;
    hand('one', ann);
    answers[0]?.resolve();
    await settled();
    expect([handed, asked.length]).toEqual([[], 2]);
    gone.now = true;
    hand('two', of('ann.mcp', '00000000000000a9'));
    for (const { resolve } of answers) resolve();
    await settled();
    expect(handed).toEqual(['one read', 'two dropped']);
  });
});
