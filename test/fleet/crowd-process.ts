// A process with many workers, each a host of the library with a link of its own. Its order comes over the channel of
// its parent; it answers with what each call came to.

import { connectWorker } from '../../src/fleet/worker/connect-worker.ts';

export interface CrowdOrder {
  readonly broker: string;
  /** With the number of each worker in the whole fleet. */
  readonly workers: readonly { readonly number: number; readonly credential: string }[];
  readonly calls: number;
}

export interface CrowdCall {
  readonly nonce: string;
  /** The content of its answer, as it must be and as it is. */
  readonly expected: string;
  readonly answer: string;
}

/** Of one worker at once. */
const inFlight = 4;

process.on('message', (order: CrowdOrder) => {
  run(order).then(
    (calls) => process.send?.(calls, () => process.exit(0)),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});

async function run({ broker, workers, calls }: CrowdOrder): Promise<readonly CrowdCall[]> {
  const all = await Promise.all(
    workers.map(async ({ number, credential }) => {
      await using host = await connectWorker({ broker, to: 'boss', credential });
      const made: CrowdCall[] = [];
      let next = 0;
      const caller = async () => {
        while (next < calls) {
          const call = next;
          next += 1;
          const nonce = `worker-${number}-call-${call}`;
          // Each has a key of its own, so that the sum is the amount, which no other call has.
          const amount = number * calls + call + 1;
          const answer = await host
            .call('boss', 'own__add', { nonce, key: nonce, amount })
            .then((result) => JSON.stringify(result.content), String);
          const text = JSON.stringify({ key: nonce, value: amount });
          made.push({ nonce, expected: JSON.stringify([{ type: 'text', text }]), answer });
        }
      };
      await Promise.all(Array.from({ length: inFlight }, caller));
      return made;
    }),
  );
  return all.flat();
}
