// How much memory is in use, after everything that nothing holds was collected.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');

export const collectGarbage = runInNewContext('gc') as () => void;

/** On the heap of this thread, and in buffers outside of it. */
export function bytesInUse(): number {
  collectGarbage();
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
