// Waiting for work that somebody may call off. An abort ends the waiting at once with the reason that
// was given; the work itself is told by its owner, and whatever still becomes of it interests nobody.

import type { Signal } from '../kernel/cancel-signal.ts';

export async function unlessAborted<T>(signal: Signal, work: Promise<T>): Promise<T> {
  let abort = () => {};
  const aborted = new Promise<never>((_resolve, reject) => {
    abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort);
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
