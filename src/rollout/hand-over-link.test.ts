// Whoever takes over hears everything that was said since the fence, once and in order, however many were lost before.

import { duplexPair } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { settled } from '../../test/support/manual-clock.ts';
import { HandOverLink } from './hand-over-link.ts';
import { type Link, linkOver } from './link.ts';

/** Both ends, and what the far one has heard. */
function successor() {
  const [near, far] = duplexPair();
  const link = linkOver(near);
  const theirs = linkOver(far);
  const heard: unknown[] = [];
  theirs.on('part', (head, payload) => heard.push([head, payload.toString()]));
  return { link, theirs, heard };
}

function said(link: Link, ...words: readonly string[]): void {
  for (const word of words) link.send('part', word, Buffer.from(word.toUpperCase()));
}

describe('the link of a hand-over', () => {
  it('tells a later successor all that one before was told, and then what comes #rollout', async () => {
    const link = new HandOverLink();
    const [first, second] = [successor(), successor()];
    said(link, 'a');
    link.attach(first.link);
    said(link, 'b');
    await settled();
    first.theirs[Symbol.dispose]();
    await first.link.closed;
    said(link, 'c');
    expect(link.isOpen).toBe(true);
    link.attach(second.link);
    link.taken();
    said(link, 'd');
    await settled();
    expect(first.heard).toEqual([
      ['a', 'A'],
      ['b', 'B'],
    ]);
    expect(second.heard).toEqual(['a', 'b', 'c', 'd'].map((one) => [one, one.toUpperCase()]));
  });

  it('hears only the one that has taken over, from its beginning, and ends with it #rollout', async () => {
    const link = new HandOverLink();
    const heard: unknown[] = [];
    const listening = link.on('part', (head) => heard.push(head));
    const unheard = link.on('other', (head) => heard.push(head));
    unheard[Symbol.dispose]();
    const [first, second] = [successor(), successor()];
    for (const [at, one] of [first, second].entries()) {
      link.attach(one.link);
      said(one.theirs, `early ${at}`);
      one.theirs.send('other', 'nobody listens');
      await settled();
    }
    expect(heard).toEqual([]);
    link.taken();
    said(second.theirs, 'late');
    await settled();
    expect(heard).toEqual(['early 1', 'late']);
    listening[Symbol.dispose]();
    said(second.theirs, 'too late');
    second.theirs[Symbol.dispose]();
    await link.closed;
    expect([link.isOpen, heard.length]).toEqual([false, 2]);
  });

  it('keeps no more than may wait on a link, and tells nobody a part of it', async () => {
    const link = new HandOverLink();
    const half = Buffer.alloc(140_000_000);
    link.send('part', 1, half);
    link.send('part', 2, half);
    expect(() => link.attach(successor().link)).toThrow(/too much/);
    expect(link.isOpen).toBe(true);
  });

  it('is closed when nobody takes over', async () => {
    const link = new HandOverLink();
    link[Symbol.dispose]();
    await link.closed;
    expect(link.isOpen).toBe(false);
  });
});
