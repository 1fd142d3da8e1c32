// The number of the last commit that was acknowledged, in a small file beside the database. The database
// holds the number of its last commit as well: one that holds a lower number has lost changes that were
// acknowledged. Nothing else shows that: a log whose end is missing or damaged looks like one whose last
// change was never finished, and an older copy of the file is a good database. The file is not forced to the disk, which would cost as
// much as the commit itself: after a power cut it may say less than it should, but never more.

import { createHash } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  lstatSync,
  openSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs';

const digits = 16;

export class Acknowledged {
  /** Undefined if it cannot be written. Then nothing is known at the next start, and nothing is refused. */
  readonly #handle: number | undefined;

  constructor(file: string) {
    this.#handle = opened(pathOf(file));
  }

  /** 0 if nothing is known: there is no such file yet, or it is not as it was written. */
  last(): number {
    if (this.#handle === undefined) return 0;
    try {
      // What is behind the line is not ours, and stays: it must not hide the line.
      const line = Buffer.alloc(lineOf(0).length);
      const text = line.toString('latin1', 0, readSync(this.#handle, line, 0, line.length, 0));
      const number = Number(text.slice(0, digits));
      return text === lineOf(number) ? number : 0;
    } catch {
      return 0;
    }
  }

  write(commit: number): void {
    if (this.#handle === undefined) return;
    try {
      writeSync(this.#handle, lineOf(commit), 0, 'latin1');
    } catch {
      // It says less than it could.
    }
  }

  /** A lower number is forced to the disk: after a power cut the former one would say more than it should. */
  lower(commit: number): void {
    this.write(commit);
    try {
      if (this.#handle !== undefined) fsyncSync(this.#handle);
    } catch {
      // The loss may be noted once more.
    }
  }

  close(): void {
    if (this.#handle !== undefined) closeSync(this.#handle);
  }
}

/** The number that is known beside a database that is not open. */
export function acknowledgedIn(file: string): number {
  const acknowledged = new Acknowledged(file);
  try {
    return acknowledged.last();
  } finally {
    acknowledged.close();
  }
}

/** With a database that is begun anew: what was acknowledged before is not expected in it. */
export function forgetAcknowledged(file: string): void {
  rmSync(pathOf(file), { force: true });
}

/** As long as it is there, changes that were acknowledged are missing. */
export function lossNoteOf(file: string): string {
  return `${file}-lost`;
}

/** On the disk when it returns; throws if that is not possible. */
export function noteLoss(file: string, expected: number, found: number): void {
  const note = lossNoteOf(file);
  if (lstatSync(note, { throwIfNoEntry: false })?.isFile()) return;
  // Fails if anything has its name: a link would lead to a file that is not ours.
  const handle = openSync(note, 'wx', 0o600);
  try {
    writeSync(
      handle,
      `${file} holds commit ${found}; commit ${expected} was acknowledged. The changes between them are lost.\n`,
    );
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

function pathOf(file: string): string {
  return `${file}-acknowledged`;
}

function opened(path: string): number | undefined {
  try {
    const careful = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
    const handle = openSync(path, constants.O_RDWR | constants.O_CREAT | careful, 0o600);
    if (fstatSync(handle).isFile()) return handle;
    closeSync(handle);
    return undefined;
  } catch {
    return undefined;
  }
}

/** Always equally long, so that a later line covers all of an earlier one. */
function lineOf(commit: number): string {
  const number = String(commit).padStart(digits, '0');
  const digest = createHash('sha256').update(number).digest('base64url').slice(0, 14);
  return `${number} ${digest}\n`;
}
