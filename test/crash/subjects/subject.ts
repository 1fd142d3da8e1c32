// What a crash test watches over: one kind of thing that the gateway keeps. A subject makes the gateway
// write, remembers what was acknowledged, and after the death and the next start looks for what is
// missing and for what nobody wrote. What else comes to be kept (another store, a mailbox, pins, the
// audit log) is one more file like those beside this one.

import type { Dice } from '../../support/dice.ts';
import type { Client } from '../asking.ts';
import type { Life, Listening } from '../home.ts';
import type { Operation } from '../injected-faults/plan.ts';

/** What may be wrong; each is a figure of the report. */
export const wrongs = {
  start: 'starts that failed',
  lost: 'acknowledged and lost',
  phantom: 'appeared without being written',
  again: 'done with, and there again',
  orphan: 'orphans after two seconds',
  call: 'calls that failed because of the disk',
  silent: 'status silent about a failing disk',
  unreported: 'damage that was not reported',
  emptied: 'damaged files silently emptied',
  leftover: 'left-over files that stay',
  alarm: 'losses reported where nothing was lost',
  died: 'processes that a disk or a damaged file has ended',
} as const;

export type Wrong = keyof typeof wrongs;

export interface Violation {
  readonly wrong: Wrong;
  readonly text: string;
}

/** A gateway that listens, with a client whose token it should accept. */
export interface Encounter {
  readonly life: Life;
  readonly listening: Listening;
  readonly client: Client;
}

/** How a gateway came to its end. */
export interface Fate {
  /** What was not forced to the disk may be gone. */
  readonly isPowerCut: boolean;
  readonly stderr: string;
}

export interface Subject {
  readonly name: string;
  /** Where its files are: beginnings of paths in the state directory. */
  readonly under: readonly string[];
  /** What happens to them while it acts, each with a number from which on it happens no more. */
  readonly moments: readonly { readonly op: Operation; readonly upTo: number }[];
  /** Do its files get written while the gateway starts, before anybody asks anything? */
  readonly isAtStart: boolean;
  /** Entries of the config of the next life. */
  servers(): Readonly<Record<string, object>>;
  /** Before a life that is about this subject: sees to it that there will be something to do. */
  prepare(dice: Dice, op: Operation | null): void;
  /** This part of the state directory was removed by its user; '' is all of it. */
  forget(part: string): void;
  /** Before a start: looks at what is there. */
  begin(): void;
  /** Asked first of all, before anything is started. */
  check(encounter: Encounter): Promise<readonly Violation[]>;
  /** Makes the gateway write, and remembers what was acknowledged. Ends by throwing when it is killed. */
  act(encounter: Encounter, dice: Dice): Promise<readonly Violation[]>;
  /** Looks at the files that a death has left. */
  examine(fate: Fate): readonly Violation[];
}

/** What happens to a record that is replaced so often in a life. */
export function replacements(upTo: number): Subject['moments'] {
  const each = ['open', 'write', 'datasync', 'close', 'rename', 'folder sync'] as const;
  return [...each.map((op) => ({ op, upTo })), { op: 'mkdir', upTo: 1 }];
}

/** Is a part of the state directory within what was removed, or the other way round? */
export function concerns(under: readonly string[], part: string): boolean {
  return part === '' || under.some((prefix) => prefix.startsWith(part) || part.startsWith(prefix));
}
