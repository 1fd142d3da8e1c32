// Large answers that are pulled at the same time: how much is asked for at once, in which order, and what is asked for
// again. Calls of the test, which plays the orchestrator.

import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Mail } from '../../broker/contract.ts';
import { parcelOf, partBody, partBytes } from '../parcel.ts';
import { Downloads } from './downloads.ts';
import type { OpenCall } from './open-call.ts';

const announcement = {} as Mail;

function pulling(answers: number, parts: number) {
  const asked: { readonly id: string; readonly offset: number }[] = [];
  const downloads = new Downloads(({ id }, offset) => asked.push({ id, offset }));
  const wholes = Array.from({ length: answers }, () => randomBytes(parts * partBytes - 1));
  const calls = wholes.map((_, at) => ({ id: `call-${at}` }) as OpenCall);
  for (const [at, call] of calls.entries()) {
    downloads.begin(call, parcelOf(wholes[at] as Buffer), announcement);
  }
  /** Answers what was asked for first; the whole answer, if that was the last part of one. */
  const answerOne = () => {
    const { id, offset } = asked.shift() ?? { id: '', offset: 0 };
    const at = calls.findIndex((call) => call.id === id);
    const call = calls[at] as OpenCall;
    const pulled = downloads.take(call, partBody(wholes[at] as Buffer, offset));
    if (Buffer.isBuffer(pulled)) downloads.end(call);
    downloads.pull();
    return pulled;
  };
  return { downloads, asked, wholes, answerOne };
}

describe('answers that are pulled', () => {
  it('ask together for a limited number of parts, and all arrive whole #no-growth', () => {
    const { downloads, asked, wholes, answerOne } = pulling(20, 5);
    downloads.pull();
    downloads.pull();
    const came: Buffer[] = [];
    while (asked.length > 0) {
      expect(asked.length).toBeLessThanOrEqual(12);
      const pulled = answerOne();
      if (Buffer.isBuffer(pulled)) came.push(pulled);
    }
    expect(came.map((one, at) => one.equals(wholes[at] as Buffer))).toEqual(wholes.map(() => true));
  });

  it('ask for nothing while whoever gets them does not keep up #slow-client', () => {
    const { downloads, asked, answerOne } = pulling(4, 5);
    downloads.pull();
    downloads.hold(true);
    while (asked.length > 0) answerOne();
    downloads.pull();
    expect(asked).toEqual([]);
    downloads.hold(false);
    // Of twenty parts twelve have come.
    expect(asked).toHaveLength(8);
  });

  it('ask again for a part that did not come, but not for one that is on its way #fleet', () => {
    const { downloads, asked, answerOne } = pulling(1, 3);
    const look = () => {
      downloads.askAgain((download) => download.lookIfStale());
      downloads.pull();
    };
    downloads.pull();
    answerOne();
    // The broker has refused the others.
    asked.length = 0;
    look();
    expect(asked).toEqual([]);
    look();
    expect(asked.map(({ offset }) => offset)).toEqual([partBytes, 2 * partBytes]);
    expect([answerOne(), Buffer.isBuffer(answerOne())]).toEqual([undefined, true]);
  });
});
