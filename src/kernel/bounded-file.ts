// Reading back a whole file without trusting its size. What lies on a disk may have been replaced by
// anything, and a file is read into memory as a whole: each caller says how large it can be at most. The
// size is looked at before the first byte is read, and a file that grows meanwhile, or has no size (a
// pipe, a device), is left as soon as it has given too much. What a file that is too large means is for
// the caller.

import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { FileTooLarge } from './file-too-large.ts';
import { Turns } from './turns.ts';

/** A link put in our place must not lead us elsewhere, nor a pipe make us wait. Windows has no such flags. */
const careful = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** All records are wanted at once when a gateway starts, and a process may have few files open. */
const turns = new Turns(32);

/** A file that nobody but us writes. */
export function readOwnFile(path: string, maxBytes: number): Promise<Buffer> {
  return turns.run(() => readNow(path, maxBytes));
}

async function readNow(path: string, maxBytes: number): Promise<Buffer> {
  const handle = await open(path, constants.O_RDONLY | careful);
  try {
    const { size } = await handle.stat();
    const content = new Content(path, size, maxBytes);
    let isMore = true;
    while (isMore) isMore = content.took((await handle.read(content.room)).bytesRead);
    return content.bytes;
  } finally {
    await handle.close();
  }
}

/** A file that a user has written and named: it may be a link to the real one, or a pipe. */
export function readNamedFile(path: string, maxBytes: number): Buffer {
  const descriptor = openSync(path, 'r');
  try {
    const content = new Content(path, fstatSync(descriptor).size, maxBytes);
    while (content.took(readSync(descriptor, content.room)));
    return content.bytes;
  } finally {
    closeSync(descriptor);
  }
}

const pieceBytes = 65_536;

/** What has been read so far, in pieces: one piece, if the file keeps to the size that it tells. */
class Content {
  readonly #path: string;
  readonly #maxBytes: number;
  readonly #pieces: Buffer[] = [];
  #length = 0;
  room: Buffer;

  constructor(path: string, size: number, maxBytes: number) {
    this.#path = path;
    this.#maxBytes = maxBytes;
    if (size > maxBytes) throw new FileTooLarge(path, maxBytes);
    // One byte more: the end is found without another piece.
    this.room = Buffer.allocUnsafe(size === 0 ? pieceBytes : size + 1);
  }

  /** Is there more to read? */
  took(bytes: number): boolean {
    if (bytes === 0) return false;
    this.#pieces.push(this.room.subarray(0, bytes));
    this.#length += bytes;
    if (this.#length > this.#maxBytes) throw new FileTooLarge(this.#path, this.#maxBytes);
    const left = this.room.subarray(bytes);
    this.room = left.length > 0 ? left : Buffer.allocUnsafe(pieceBytes);
    return true;
  }

  get bytes(): Buffer {
    const [first] = this.#pieces;
    return first && this.#pieces.length === 1 ? first : Buffer.concat(this.#pieces, this.#length);
  }
}
