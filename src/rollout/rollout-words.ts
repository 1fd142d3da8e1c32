// What incumbent and successor say to each other about the rollout itself, on the link's kind `rollout`. The snapshots
// travel in kinds of their own (snapshot.ts), as does everything that other parts say.

import { isRecord } from '../kernel/json-values.ts';
import { printableLine } from '../kernel/printable.ts';
import { type Link, LinkError } from './link.ts';

export const rolloutKind = 'rollout';

export type SuccessorWord =
  /** It has read the snapshot, and could serve. */
  | { readonly say: 'ready'; readonly program: string; readonly pid: number }
  /** It cannot, and is ending. */
  | { readonly say: 'refused'; readonly detail: string }
  /** The holder knows it as the serving process, and it serves. */
  | { readonly say: 'serving' };

/** What the former was asked for while it could not do it any more. */
export interface PassedOn {
  /** Another rollout. */
  readonly again: boolean;
  /** The end of the instance. */
  readonly shutdown: boolean;
}

const maxDetail = 2_000;

export function saySuccessor(link: Link, word: SuccessorWord): void {
  link.send(rolloutKind, word);
}

export function sayPassedOn(link: Link, { again, shutdown }: PassedOn): void {
  link.send(rolloutKind, { say: 'passOn', again, shutdown });
}

/** Throws a LinkError for anything else. */
export function successorWord(head: unknown): SuccessorWord {
  if (isRecord(head)) {
    const { say, program, pid, detail } = head;
    if (say === 'serving') return { say };
    if (say === 'refused' && typeof detail === 'string') return { say, detail: shortened(detail) };
    const isProgram = typeof program === 'string' && program.length <= 100;
    if (say === 'ready' && isProgram && typeof pid === 'number') {
      return { say, program: printableLine(program), pid };
    }
  }
  throw new LinkError('bad_message', 'the successor says something unknown');
}

/** Throws a LinkError for anything else. */
export function passedOnIn(head: unknown): PassedOn {
  if (isRecord(head) && head['say'] === 'passOn') {
    const { again, shutdown } = head;
    if (typeof again === 'boolean' && typeof shutdown === 'boolean') return { again, shutdown };
  }
  throw new LinkError('bad_message', 'the incumbent says something unknown');
}

export function shortened(detail: string): string {
  return printableLine(detail.slice(0, maxDetail));
}
