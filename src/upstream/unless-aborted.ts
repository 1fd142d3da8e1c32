// Waits for work that may be cancelled. An abort ends the waiting at once with the given reason;
// the owner of the work cancels the work itself, and its outcome is ignored.

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
