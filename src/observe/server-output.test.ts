import { describe, expect, it } from 'vitest';
import { ServerOutput } from './server-output.ts';

function output() {
  let now = 0;
  const kept = new ServerOutput(() => now);
  const write = (text: string) => {
    now += 1;
    kept.write({ pid: 7, stream: 'stderr' }, { length: text.length, text: () => text });
  };
  const texts = (place: number) => kept.since(place).lines.map(({ text }) => text);
  return { kept, write, texts };
}

describe('the output of a server', () => {
  it('is read page by page, each line once', () => {
    const { kept, write, texts } = output();
    expect(kept.since(-1)).toEqual({ lines: [], next: 0, missed: 0 });
    write('a');
    write('b');
    expect(kept.since(0).lines[0]).toEqual({ at: 1, pid: 7, stream: 'stderr', text: 'a' });
    expect(texts(0)).toEqual(['a', 'b']);
    const { next } = kept.since(0);
    write('c');
    expect(texts(next)).toEqual(['c']);
    expect(texts(kept.since(next).next)).toEqual([]);
  });

  it('is bounded, and says how many lines a slow reader has missed #no-growth', () => {
    const { kept, write } = output();
    write('first');
    const { next } = kept.since(-1);
    for (let n = 0; n < 1_500; n += 1) write(String(n));
    const page = kept.since(next);
    expect([page.lines.length, page.missed]).toEqual([1_000, 500]);
    expect(page.lines[0]?.text).toBe('500');
    // Somebody new has missed nothing.
    expect(kept.since(-1).missed).toBe(0);
    for (let n = 0; n < 10; n += 1) write('x'.repeat(100_000));
    expect(kept.since(0).lines.length).toBe(2);
  });

  it('begins with the first line for a reader from another time', () => {
    const { write, texts } = output();
    write('a');
    expect(texts(99)).toEqual(['a']);
    expect(texts(-1)).toEqual(['a']);
  });
});
