// The successor's side of a rollout: it reads the snapshot and checks it whole, prepares, says ready, waits for what
// the incumbent hands over at the fence, asks the holder to be the serving process, and serves. Until the holder has
// agreed it may be given up at any moment, and gives up itself if the link is lost: the incumbent serves on, or the
// holder starts a process of its own. After that the incumbent is not needed any more.

import type { Link } from './link.ts';
import {
  type PassedOn,
  passedOnIn,
  rolloutKind,
  saySuccessor,
  shortened,
} from './rollout-words.ts';
import { type ReadSnapshot, receivedSnapshot } from './snapshot.ts';

export interface Prepared {
  /**
   * Takes over what the incumbent has handed over; nothing is served yet. What needs more of the link than its
   * snapshot listens there itself.
   */
  take(yours: ReadSnapshot): Promise<void>;
  /** Begins to serve. */
  serve(): Promise<void>;
}

export interface SuccessorParts {
  readonly link: Link;
  /** This instance, as the holder knows it: a snapshot of another one is refused. */
  readonly instance: string;
  /** The version of this program. */
  readonly program: string;
  readonly pid: number;
  /** Loads everything that serving needs and opens nothing that the incumbent has open. Throws if it cannot serve. */
  readonly prepare: (begin: ReadSnapshot, link: Link) => Promise<Prepared>;
  /** Asks the holder to be the serving process. False: it has been given up. */
  readonly claim: () => Promise<boolean>;
  /** What the former was asked for meanwhile; heard at most once, after this process has begun to serve. */
  readonly passedOn: (wish: PassedOn) => void;
}

/** It has been given up, or was left alone: this process must end. */
export class SuccessorGivenUp extends Error {
  override readonly name = 'SuccessorGivenUp';
}

/** Resolves when it serves. Rejects if it cannot, after it has said so; the process then ends without having served. */
export async function succeed(parts: SuccessorParts): Promise<void> {
  const { link, program, pid } = parts;
  // From the beginning: they may come at once.
  const begin = receivedSnapshot(link, 'begin', parts.instance);
  const yours = receivedSnapshot(link, 'yours', parts.instance);
  // Whoever has failed before does not wait for it.
  yours.catch(() => {});
  try {
    const prepared = await unlessLost(link, parts.prepare(await begin, link));
    saySuccessor(link, { say: 'ready', program, pid });
    await prepared.take(await yours);
    if (!(await parts.claim())) throw new SuccessorGivenUp('the rollout was given up');
    await prepared.serve();
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    saySuccessor(link, { say: 'refused', detail: shortened(detail) });
    link[Symbol.dispose]();
    await link.closed;
    throw error;
  }
  link.on(rolloutKind, (head) => parts.passedOn(passedOnIn(head)));
  saySuccessor(link, { say: 'serving' });
}

/** The work ends with the link: nobody waits for it any more. */
async function unlessLost<T>(link: Link, work: Promise<T>): Promise<T> {
  const lost = link.closed.then((): never => {
    throw new SuccessorGivenUp('the incumbent is gone');
  });
  return await Promise.race([work, lost]);
}
