// Two ends of a link in one process: over a pair of streams in memory, whose bytes a test can cut, hold or change on
// their way.

import { duplexPair } from 'node:stream';
import { type Link, linkOver } from '../../src/rollout/link.ts';

export interface LinkPair extends Disposable {
  readonly one: Link;
  readonly other: Link;
  /** Ends the connection without a word, as the end of a process does. */
  readonly cut: () => void;
}

export function linkPair(): LinkPair {
  const [a, b] = duplexPair();
  const cut = () => {
    a.destroy();
    b.destroy();
  };
  return { one: linkOver(a), other: linkOver(b), cut, [Symbol.dispose]: cut };
}
