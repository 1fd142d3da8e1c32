// The workers behind a broker in a rollout. A mailbox has one reader, so the next process opens its link when this one has
// closed its own: when the calls that it has taken are answered, but no later than it may take to drain. Letters that
// come meanwhile stay with the broker for the next process. Calls that run longer go on here: their workers ask the next
// process for them, which knows by their ids that they run here, and waits for their outcome.

import type { Orchestrator } from '../../../fleet/orchestrator/orchestrator.ts';
import { type Clock, within } from '../../../kernel/clock.ts';
import { isRecord } from '../../../kernel/json-values.ts';
import type { Succession } from './succession.ts';

/** How the link of one process follows that of the one before. */
export interface WorkersTurn {
  /** Resolves when the process before has closed its link; at once if there was none. */
  readonly begins: Promise<unknown>;
  /** The next process takes the letters that come now. */
  readonly isOver: () => boolean;
  /** A worker has cancelled this call: the process before may have it. */
  readonly cancelled: (key: string) => void;
}

const what = 'workers';
const lookMs = 50;

export function workersTurn(succession: Succession | undefined): WorkersTurn {
  const link = succession?.arrival?.link;
  const isFree = new Promise<void>((resolve) => {
    if (link === undefined) resolve();
    else link.on(what, () => resolve());
  });
  return {
    begins: link === undefined ? isFree : Promise.race([isFree, link.closed]),
    isOver: () => succession?.isLeaving ?? false,
    cancelled: (key) => link?.send(what, { say: 'cancel', key }),
  };
}

export interface WorkersParts {
  readonly turn: WorkersTurn;
  readonly clock: Clock;
  readonly drainMs: number;
}

/** To be disposed of when its link is closed. Where there is no orchestrator the next one need not wait for it. */
export function workersOverRollouts(
  succession: Succession,
  orchestrator: Orchestrator | undefined,
  { turn, clock, drainMs }: WorkersParts,
): Disposable {
  return succession.add({
    give: (link) => {
      link.on(what, (head) => {
        const key = isRecord(head) && head['say'] === 'cancel' ? head['key'] : undefined;
        if (typeof key !== 'string') return;
        orchestrator?.cancel(key);
        turn.cancelled(key);
      });
      const leave = async () => {
        const quiet = orchestrator && whenQuiet(orchestrator, clock);
        if (quiet !== undefined) await within(clock, drainMs, quiet);
        await orchestrator?.close();
        link.send(what, { say: 'free' });
        await quiet;
      };
      return { ended: leave() };
    },
  });
}

function whenQuiet(orchestrator: Orchestrator, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (orchestrator.busy === 0) resolve();
      else clock.after(lookMs, look, true);
    };
    look();
  });
}
