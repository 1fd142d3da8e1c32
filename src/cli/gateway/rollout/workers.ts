// The workers behind a broker in a rollout. A mailbox has one reader, so the next process opens its link when this one has
// closed its own: when the calls that it has taken are answered, but no later than it may take to drain. Letters that
// come meanwhile stay with the broker for the next process.

import type { Orchestrator } from '../../../fleet/orchestrator/orchestrator.ts';
import { type Clock, within } from '../../../kernel/clock.ts';
import type { Succession } from './succession.ts';

/** How the link of one process follows that of the one before. */
export interface WorkersTurn {
  /** Resolves when the process before has closed its link; at once if there was none. */
  readonly begins: Promise<unknown>;
  /** The next process takes the letters that come now. */
  readonly isOver: () => boolean;
}

const what = 'workers';
const lookMs = 50;

export function workersTurn(succession: Succession | undefined): WorkersTurn {
  const link = succession?.arrival?.link;
  const isFree =
    link === undefined
      ? Promise.resolve()
      : new Promise<void>((resolve) => void link.on(what, () => resolve()));
  return {
    begins: link === undefined ? isFree : Promise.race([isFree, link.closed]),
    isOver: () => succession?.isLeaving ?? false,
  };
}

/** To be disposed of when its link is closed. Where there is no orchestrator the next one need not wait for it. */
export function workersOverRollouts(
  succession: Succession,
  orchestrator: Orchestrator | undefined,
  { clock, drainMs }: { readonly clock: Clock; readonly drainMs: number },
): Disposable {
  return succession.add({
    give: (link) => {
      const leave = async () => {
        if (orchestrator !== undefined) {
          await within(clock, drainMs, whenQuiet(orchestrator, clock));
          await orchestrator.close();
        }
        link.send(what, { say: 'free' });
      };
      return { ended: leave() };
    },
  });
}

function whenQuiet(orchestrator: Orchestrator, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (orchestrator.state.workers === 0) resolve();
      else clock.after(lookMs, look, true);
    };
    look();
  });
}
