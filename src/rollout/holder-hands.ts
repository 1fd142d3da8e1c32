// The holder as a rollout uses it, over the client of the holder's channel: one successor at a time, whose end is told
// by the holder, and which the holder alone decides about when it is given up in the moment in which it takes over.

import type { Duplex } from 'node:stream';
import type { HolderForRollout, SuccessorStart } from './attempt.ts';

export interface ProcessExit {
  readonly code: number | null;
  readonly signal: string | null;
}

/** What of the client is used (holder-client.ts). */
export interface RolloutChannel {
  readonly pid: number;
  /** The incumbent's end of the link. Rejects if there is no successor. */
  startSuccessor(): Promise<Duplex>;
  /**
   * The successor is killed, unless it is the serving process by now. Answered when its process has ended, or at
   * once where there is none.
   */
  abandon(): Promise<'ended' | 'serving'>;
  listen(news: { readonly successorEnded: (exit: ProcessExit) => void }): Disposable;
}

export function holderForRollout(channel: RolloutChannel): HolderForRollout {
  let current: number | undefined;
  return {
    pid: channel.pid,
    startSuccessor: async (run): Promise<SuccessorStart> => {
      current = run;
      let listening: Disposable | undefined;
      const ended = new Promise<string>((resolve) => {
        // It may end before the answer to its start is handled.
        listening = channel.listen({ successorEnded: (exit) => resolve(exitText(exit)) });
      });
      try {
        const stream = await channel.startSuccessor();
        return {
          kind: 'started',
          stream,
          ended: ended.finally(() => listening?.[Symbol.dispose]()),
        };
      } catch (error) {
        listening?.[Symbol.dispose]();
        return { kind: 'refused', detail: error instanceof Error ? error.message : String(error) };
      }
    },
    // One of an earlier run has ended: the holder starts none beside it.
    abandon: async (run) => (run === current ? await channel.abandon() : 'ended'),
  };
}

function exitText({ code, signal }: ProcessExit): string {
  return signal === null ? `exit code ${code ?? 'unknown'}` : `killed by ${signal}`;
}
