// The pid-holder, as a rollout at the incumbent uses it: a successor is started, and ended if the rollout is given up.

import { constants } from 'node:os';
import { type Clock, within } from '../../../kernel/clock.ts';
import type { HolderForRollout, SuccessorStart } from '../../../rollout/attempt.ts';
import type { HeldExit } from '../../../rollout/holder/messages.ts';
import { type HolderClient, HolderRefusal } from '../../../rollout/holder-client.ts';

/** Longer than a process needs to end that was killed; then it hangs in the system. */
const endMs = 4_000;

export function rolloutHolder(holder: HolderClient, clock: Clock): HolderForRollout {
  let ended: Promise<HeldExit> | undefined;
  return {
    pid: holder.pid,
    startSuccessor: async (): Promise<SuccessorStart> => {
      // Before it is started: it may end at once.
      const exit = nextEnd(holder);
      ended = exit;
      try {
        const stream = await holder.startSuccessor();
        return { kind: 'started', stream, ended: exit.then(howIt) };
      } catch (error) {
        ended = undefined;
        if (!(error instanceof HolderRefusal)) throw error;
        return { kind: 'refused', detail: error.message };
      }
    },
    abandon: async () => {
      if (ended === undefined) return 'ended';
      holder.abandon();
      let hasEnded = false;
      const end = ended.then(() => {
        hasEnded = true;
      });
      ended = undefined;
      await within(clock, endMs, end);
      // The holder tells of the end of a successor only as long as it is one.
      return hasEnded ? 'ended' : 'serving';
    },
  };
}

function nextEnd(holder: HolderClient): Promise<HeldExit> {
  return new Promise((resolve) => {
    const news = holder.listen({
      successorEnded: (exit) => {
        news[Symbol.dispose]();
        resolve(exit);
      },
    });
  });
}

function howIt({ code, signal }: HeldExit): string {
  if (signal !== null) return `killed by ${signal}`;
  const number = (code ?? 0) - 128;
  const name = Object.entries(constants.signals).find(([, value]) => value === number)?.[0];
  return name === undefined ? `exit code ${code}` : `exit code ${code} (${name})`;
}
