import { describe, expect, it } from 'vitest';
import { manualClock, settled } from '../../../test/support/manual-clock.ts';
import { Fault } from '../../kernel/fault.ts';
import type { TextOrFrame } from '../../wire/frames.ts';
import { Exchange } from '../exchange.ts';
import { Outbox } from './outbox.ts';

/** A pipe whose writes end when the test says so. */
function newOutbox() {
  const clock = manualClock();
  const writes: string[] = [];
  const open: ((error: Error | null) => void)[] = [];
  const stuck: [string, Error | null][] = [];
  const pipe = {
    write(bytes: Uint8Array | string, done: (error: Error | null) => void) {
      writes.push(Buffer.from(bytes).toString());
      open.push(done);
    },
  };
  const outbox = new Outbox(pipe, clock, 10_000, {
    isBusy: () => false,
    stuck: (cause, error) => stuck.push([cause, error]),
  });
  let nextId = 1;
  const push = (frame: TextOrFrame) => {
    const exchange = new Exchange(nextId++, undefined, () => {});
    exchange.answer.catch(() => {});
    outbox.push(frame, exchange);
    return exchange;
  };
  /** Pushes a frame and ends the turn: its write is under way. */
  const first = async (text: string) => {
    const exchange = push(text);
    await settled();
    return exchange;
  };
  const finish = (error: Error | null = null) => open.shift()?.(error);
  return { clock, outbox, pipe, writes, open, stuck, push, first, finish };
}

const bytes = (text: string): TextOrFrame => [Buffer.from(text)];
const cancel = (exchange: Exchange) => exchange.cancel(new Fault('cancelled', ''));

describe('our queue in front of a pipe', () => {
  it('writes a frame at the end of its turn; from then on it may have left us', async () => {
    const { push, writes } = newOutbox();
    const one = push('one\n');
    expect([writes, one.dispatched]).toEqual([[], 'no']);
    await settled();
    expect([writes, one.dispatched]).toEqual([['one\n'], 'maybe']);
  });

  it('takes a pipe that throws for a broken one #one-bad-neighbour', async () => {
    const { outbox, pipe, push, stuck, writes } = newOutbox();
    pipe.write = () => {
      throw new TypeError('a defect');
    };
    push('one\n');
    await settled();
    expect(stuck).toMatchObject([['broken', { message: 'a defect' }]]);
    outbox.push('two\n', undefined);
    await settled();
    expect([stuck.length, writes]).toEqual([1, []]);
  });

  it('has one write outstanding: what is queued behind it has not been sent', async () => {
    const { first, push, writes } = newOutbox();
    await first('one\n');
    const [two, three] = [push('two\n'), push('three\n')];
    await settled();
    expect(writes).toEqual(['one\n']);
    expect([two.dispatched, three.dispatched]).toEqual(['no', 'no']);
  });

  it('writes what has gathered in one piece and in order, text and bytes alike', async () => {
    const { first, push, writes, finish, outbox } = newOutbox();
    await first('one\n');
    push('zwei é\n');
    push(bytes('three\n'));
    outbox.push('{"a":"notification"}\n', undefined);
    push(bytes('four\n'));
    const last = push('last\n');
    finish();
    await settled();
    expect(writes).toEqual(['one\n', 'zwei é\nthree\n{"a":"notification"}\nfour\nlast\n']);
    expect(last.dispatched).toBe('maybe');
  });

  it('writes the frames of one turn in one piece', async () => {
    const { push, writes, first, finish } = newOutbox();
    await first('one\n');
    finish();
    const two = push('two\n');
    push('three\n');
    expect(two.dispatched).toBe('no');
    await settled();
    expect(writes).toEqual(['one\n', 'two\nthree\n']);
    expect(two.dispatched).toBe('maybe');
  });

  it('does not collect more than a useful amount', () => {
    const { push, writes } = newOutbox();
    push(`${'x'.repeat(17_000)}\n`);
    expect(writes).toHaveLength(1);
  });

  it('joins no more than it needs to: the rest stays ours', async () => {
    const { first, push, writes, finish } = newOutbox();
    await first('one\n');
    const big = Array.from({ length: 4 }, () => push('x'.repeat(40_000)));
    finish();
    await settled();
    expect(writes[1]).toHaveLength(80_000);
    expect(big.map(({ dispatched }) => dispatched)).toEqual(['maybe', 'maybe', 'no', 'no']);
  });

  it('never writes a frame that was cancelled in the queue', async () => {
    const { first, push, writes, finish } = newOutbox();
    await first('one\n');
    const two = push('two\n');
    push('three\n');
    cancel(two);
    finish();
    await settled();
    expect(writes).toEqual(['one\n', 'three\n']);
    expect(two.dispatched).toBe('no');
  });

  it('writes nothing at all when everything that waited was cancelled', async () => {
    const { first, push, writes, finish } = newOutbox();
    await first('one\n');
    cancel(push('two\n'));
    finish();
    await settled();
    expect(writes).toEqual(['one\n']);
    push('three\n');
    await settled();
    expect(writes).toEqual(['one\n', 'three\n']);
  });

  it('writes every frame once and in order, however the pipe keeps up', async () => {
    const { push, writes, finish, open } = newOutbox();
    const all: string[] = [];
    for (let frame = 0; frame < 1_000; frame++) {
      all.push(`${frame}\n`);
      push(`${frame}\n`);
      if (frame % 7 === 0) finish();
      if (frame % 13 === 0) await settled();
    }
    while (open.length > 0) {
      finish();
      await settled();
    }
    expect(writes.join('')).toBe(all.join(''));
  });
});

describe('a pipe that breaks', () => {
  it('is reported, and what stood behind the write never left us', async () => {
    const { first, push, writes, finish, stuck } = newOutbox();
    const one = await first('one\n');
    const two = push('two\n');
    const error = new Error('EPIPE');
    finish(error);
    expect(stuck).toEqual([['broken', error]]);
    const three = push('three\n');
    await settled();
    expect(writes).toEqual(['one\n']);
    expect([one, two, three].map(({ dispatched }) => dispatched)).toEqual(['maybe', 'no', 'no']);
  });

  it('is reported once', async () => {
    const { push, first, finish, stuck } = newOutbox();
    await first('one\n');
    finish(new Error('EPIPE'));
    push('two\n');
    await settled();
    finish(new Error('EPIPE'));
    expect(stuck).toHaveLength(1);
  });
});

describe('a server that does not read', () => {
  it('is reported when a write behind which frames wait has not ended by the deadline', async () => {
    const { first, push, clock, stuck } = newOutbox();
    await first('one\n');
    push('two\n');
    clock.advance(9_999);
    expect(stuck).toEqual([]);
    clock.advance(1);
    expect(stuck).toEqual([['not-reading', null]]);
  });

  it('is not suspected while its writes end, however slowly', async () => {
    const { push, clock, stuck, finish } = newOutbox();
    push('one\n');
    for (let write = 0; write < 10; write++) {
      push('more\n');
      await clock.advanceAsync(9_000);
      finish();
      await settled();
    }
    expect(stuck).toEqual([]);
  });

  it('costs a healthy pipe no timer', async () => {
    const { push, clock, finish } = newOutbox();
    push('one\n');
    finish();
    push('two\n');
    await settled();
    finish();
    expect(clock.pending).toBe(0);
  });
});

describe('a closed queue', () => {
  it('writes nothing more and leaves no timer; what waited stays ours', async () => {
    const { first, push, outbox, writes, finish, clock, stuck } = newOutbox();
    await first('one\n');
    const two = push('two\n');
    outbox.close();
    finish(new Error('EPIPE'));
    const three = push('three\n');
    await settled();
    expect(writes).toEqual(['one\n']);
    expect([two.dispatched, three.dispatched]).toEqual(['no', 'no']);
    expect([clock.pending, stuck.length]).toEqual([0, 0]);
  });

  it('writes waiting cancellations and answers when it is finished, but no call', async () => {
    const { first, push, writes, outbox } = newOutbox();
    await first('one\n');
    const two = push('two\n');
    outbox.push('{"a":"cancellation"}\n', undefined);
    outbox.finish();
    outbox.push('late\n', undefined);
    await settled();
    expect(writes).toEqual(['one\n', '{"a":"cancellation"}\n']);
    expect(two.dispatched).toBe('no');
  });
});
