// Reads a whole file into memory with a limit on its size. A file on disk may have been replaced by
// anything, so each caller gives a maximum. The size is checked before the first byte is read; a
// file that grows meanwhile, or has no size (a pipe, a device), is abandoned as soon as it has
// delivered more than the limit. The caller decides what a file that is too large means.

import { closeSync, constants, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { ignored } from './contain.ts';
import { FileTooLarge } from './file-too-large.ts';
import { Turns } from './turns.ts';

/**
 * Do not follow a symbolic link at this path, and do not block on a pipe. Windows has no such
 * flags.
 */
const careful = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** When a gateway starts it reads all records at once, and a process may have few files open. */
const turns = new Turns(32);

/** Up to here a file is read by this thread. */
const smallBytes = 262_144;

/** A file that only Holdfast writes. */
export function readOwnFile(path: string, maxBytes: number): Promise<Buffer> {
  return turns.run(() => readNow(path, maxBytes));
}

/**
 * A small file that could be opened is read at once: hundreds of them are read when a gateway starts, and
 * each step by another thread costs ten times as much as the reading. Nobody waits for the close.
 */
async function readNow(path: string, maxBytes: number): Promise<Buffer> {
  const handle = await open(path, constants.O_RDONLY | careful);
  try {
    const { size } = fstatSync(handle.fd);
    const content = new Content(path, size, maxBytes);
    if (size <= smallBytes) {
      while (content.took(readSync(handle.fd, content.room)));
      return content.bytes;
    }
    let isMore = true;
    while (isMore) isMore = content.took((await handle.read(content.room)).bytesRead);
    return content.bytes;
  } finally {
    handle.close().catch(ignored);
  }
}

/**
 * A file that a user has written and named: it may be a symbolic link to the real one, or a pipe of the
 * shell (`<(command)`). A named pipe is refused (ESPIPE): opening it would wait for whoever writes to it,
 * perhaps for ever, and with it this whole process.
 */
export function readNamedFile(path: string, maxBytes: number): Buffer {
  if (statSync(path).isFIFO() && !isOpenAlready(path)) {
    throw Object.assign(new Error(`${path} is a named pipe`), { code: 'ESPIPE' });
  }
  const descriptor = openSync(path, 'r');
  try {
    const content = new Content(path, fstatSync(descriptor).size, maxBytes);
    while (content.took(readSync(descriptor, content.room)));
    return content.bytes;
  } finally {
    closeSync(descriptor);
  }
}

/** A descriptor of this process, by its path. */
function isOpenAlready(path: string): boolean {
  return /^\/(?:dev\/(?:fd\/|stdin$)|proc\/(?:self|\d+)\/fd\/)/.test(path);
}

const pieceBytes = 65_536;

/** The data read so far, in chunks: one chunk if the file has the size that it reported. */
class Content {
  readonly #path: string;
  readonly #maxBytes: number;
  /** As it was when the file was opened. */
  readonly #size: number;
  readonly #pieces: Buffer[] = [];
  #length = 0;
  room: Buffer;

  constructor(path: string, size: number, maxBytes: number) {
    this.#path = path;
    this.#maxBytes = maxBytes;
    this.#size = size;
    if (size > maxBytes) throw new FileTooLarge(path, maxBytes);
    // One byte more, so that the end of the file is found without another chunk.
    this.room = Buffer.allocUnsafe(size === 0 ? pieceBytes : size + 1);
  }

  /** May there be more to read? */
  took(bytes: number): boolean {
    if (bytes === 0) return false;
    const isEnd = this.#length === 0 && bytes === this.#size && bytes < this.room.length;
    this.#pieces.push(this.room.subarray(0, bytes));
    this.#length += bytes;
    if (this.#length > this.#maxBytes) throw new FileTooLarge(this.#path, this.#maxBytes);
    const left = this.room.subarray(bytes);
    this.room = left.length > 0 ? left : Buffer.allocUnsafe(pieceBytes);
    return !isEnd;
  }

  get bytes(): Buffer {
    const [first] = this.#pieces;
    return first && this.#pieces.length === 1 ? first : Buffer.concat(this.#pieces, this.#length);
  }
}
