import { describe, expect, it } from 'vitest';
import { KeptEvents, Purse } from './kept-events.ts';

const plenty = () => new Purse(Number.MAX_SAFE_INTEGER, () => undefined);
const texts = (events: readonly { readonly frame: readonly (string | Buffer)[] }[]) =>
  events.map(({ frame }) => frame.join(''));

function kept(keptEvents = 10, keptBytes = 1000, purse = plenty()) {
  return new KeptEvents({ keptEvents, keptBytes }, purse);
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
    const events = kept(10, 10);
    events.keep('p1', 1, ['12345']);
    events.keep('p1', 2, ['12345']);
    events.keep('p1', 3, ['1']);
    expect(texts(events.after('p1', 0))).toEqual(['12345', '1']);
    events.keep('p1', 4, ['x'.repeat(50)]);
    expect(texts(events.after('p1', 0))).toEqual(['x'.repeat(50)]);
    events.keep('p1', 5, ['1']);
    expect(texts(events.after('p1', 0))).toEqual(['1']);
  });

  it('wait for a stream, and are taken out once', () => {
    const events = kept();
    events.keep(undefined, 0, ['a']);
    events.keep('p1', 1, ['b']);
    events.keep(undefined, 0, ['c']);
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
    expect((piece as Buffer).buffer.byteLength).toBeLessThan(100);
  });

  it('are paid from one purse, and given back', () => {
    let isRelieved = false;
    const purse = new Purse(10, () => {
      isRelieved = true;
    });
    const [one, other] = [kept(10, 1000, purse), kept(2, 1000, purse)];
    one.keep('p1', 1, ['12345']);
    other.keep('p1', 1, ['12345']);
    expect(isRelieved).toBe(false);
    other.keep('p1', 2, ['1']);
    expect(isRelieved).toBe(true);
    expect(purse.isOverdrawn).toBe(true);
    one.clear();
    expect(purse.isOverdrawn).toBe(false);
    other.keep(undefined, 0, ['1234']);
    other.takeWaiting();
    other.clear();
    one.keep('p1', 2, ['1234567890']);
    expect(purse.isOverdrawn).toBe(false);
  });
});
