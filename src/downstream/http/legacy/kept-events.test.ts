import { describe, expect, it } from 'vitest';
import { ByteBudget, besideText, KeptEvents } from './kept-events.ts';

const plenty = () => new ByteBudget(Number.MAX_SAFE_INTEGER, () => undefined);
const texts = (events: readonly { readonly frame: readonly (string | Buffer)[] }[]) =>
  events.map(({ frame }) => frame.join(''));

function kept(keptEvents = 10, keptBytes = 100_000, budget = plenty()) {
  return new KeptEvents({ keptEvents, keptBytes }, budget);
}

describe('kept events', () => {
  it('are given again from the place on, for their own stream only', () => {
    const events = kept();
    events.keep('p1', 1, ['a']);
    events.keep('p2', 1, ['b']);
    events.keep('p1', 2, ['c', Buffer.from('d')]);
    events.keep('p1', 3, ['e']);
    expect(texts(events.after('p1', 1))).toEqual(['cd', 'e']);
    expect(texts(events.after('p1', 0))).toEqual(['a', 'cd', 'e']);
    expect(texts(events.after('p2', 1))).toEqual([]);
    expect(events.has('p2')).toBe(true);
    expect(events.has('p3')).toBe(false);
  });

  it('are bounded in number, the oldest first', () => {
    const events = kept(3);
    for (let place = 1; place <= 5; place += 1) events.keep('p1', place, [`${place}`]);
    expect(texts(events.after('p1', 0))).toEqual(['3', '4', '5']);
  });

  it('are bounded in bytes, but the newest stays whatever its size', () => {
    const events = kept(10, 2 * besideText + 9);
    events.keep('p1', 1, ['12345']);
    events.keep('p1', 2, ['12345']);
    events.keep('p1', 3, ['1']);
    expect(texts(events.after('p1', 0))).toEqual(['12345', '1']);
    const long = 'x'.repeat(3 * besideText);
    events.keep('p1', 4, [long]);
    expect(texts(events.after('p1', 0))).toEqual([long]);
    events.keep('p1', 5, ['1']);
    expect(texts(events.after('p1', 0))).toEqual(['1']);
  });

  it('wait for a stream, and are taken out once', () => {
    const events = kept();
    events.wait(['a']);
    events.keep('p1', 1, ['b']);
    events.wait(['c']);
    expect(events.takeWaiting().map(String)).toEqual(['a', 'c']);
    expect(events.takeWaiting()).toEqual([]);
    expect(texts(events.after('p1', 0))).toEqual(['b']);
  });

  it('do not hold on to the large buffer that a small frame is a part of', () => {
    const events = kept();
    const large = Buffer.alloc(1_000_000, 'x');
    events.keep('p1', 1, [large.subarray(10, 14)]);
    large.fill('y');
    const [event] = events.after('p1', 0);
    const [piece] = event?.frame ?? [];
    expect(String(piece)).toBe('xxxx');
    expect(typeof piece).toBe('string');
  });

  it('wait once where one of a kind is enough, however often it is said', () => {
    const budget = plenty();
    const events = kept(10, 100_000, budget);
    events.wait(['before']);
    for (let n = 0; n < 300; n += 1) {
      events.wait(['tools changed'], 'tools');
      events.wait(['prompts changed'], 'prompts');
    }
    expect(budget.bytes).toBeLessThan(4 * besideText);
    expect(events.takeWaiting().map(String)).toEqual([
      'before',
      'tools changed',
      'prompts changed',
    ]);
    events.wait(['tools changed'], 'tools');
    expect(events.takeWaiting().map(String)).toEqual(['tools changed']);
    expect(budget.bytes).toBe(0);
  });

  it('share the text that many keep, instead of a copy each', () => {
    const frame = ['{"method":"notifications/tools/list_changed"}'];
    const events = kept();
    events.wait(frame);
    expect(events.takeWaiting()[0]).toBe(frame);
  });

  it('of one stream can be forgotten alone', () => {
    const budget = plenty();
    const events = kept(10, 100_000, budget);
    events.keep('p1', 1, ['a']);
    events.keep('p2', 1, ['b']);
    events.forget('p1');
    expect([events.has('p1'), events.has('p2'), budget.bytes]).toEqual([
      false,
      true,
      besideText + 1,
    ]);
  });

  it('are paid from one budget, with what keeping costs, and given back', () => {
    let grown = 0;
    const budget = new ByteBudget(2 * besideText + 10, () => {
      grown += 1;
    });
    const [one, other] = [kept(10, 100_000, budget), kept(2, 100_000, budget)];
    one.keep('p1', 1, ['12345']);
    other.keep('p1', 1, ['12345']);
    expect(budget.isExceeded).toBe(false);
    other.keep('p1', 2, ['1']);
    expect([grown, budget.isExceeded]).toEqual([3, true]);
    one.clear();
    expect(budget.isExceeded).toBe(false);
    other.wait(['1234']);
    other.takeWaiting();
    other.clear();
    expect(budget.bytes).toBe(0);
  });
});
