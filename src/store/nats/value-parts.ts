// Values that are too large for one message: they are cut into parts, which are stored first, in a stream beside the
// one with the keys. The record then names them: how many they are, how many bytes, and their checksum. Parts that no
// record names are removed by `cell-sweep.ts`.

import { createHash, randomBytes } from 'node:crypto';
import { StoreError } from '../store-error.ts';
import type { KeptStream } from './kept-stream.ts';

interface Named {
  readonly id: string;
  readonly count: number;
  readonly bytes: number;
  readonly sum: string;
}

/** The server's own limit, minus this, is for the body of a message. */
const headroomBytes = 16_384;
const partBytes = 262_144;
/** Of one value. */
const mostBytes = 64 * 1024 * 1024;
const atOnce = 4;

export class ValueParts {
  readonly stream: KeptStream;

  constructor(stream: KeptStream) {
    this.stream = stream;
  }

  /** What the record says of the parts; undefined if it fits into the record itself. Rejects with a StoreError. */
  async writeIfLarge(
    text: string,
    besideBytes: number,
    maxPayload: number,
  ): Promise<string | undefined> {
    const bytes = Buffer.byteLength(text);
    const size = Math.min(partBytes, maxPayload - headroomBytes);
    if (bytes + besideBytes <= size) return undefined;
    if (bytes > mostBytes || besideBytes > size) {
      const told = `a value has at most ${mostBytes} bytes and its key ${size}, not ${bytes} and ${besideBytes}`;
      throw new StoreError('too_large', told);
    }
    const body = Buffer.from(text);
    const id = randomBytes(12).toString('hex');
    const count = Math.ceil(body.length / size);
    await each(count, async (index) => {
      const part = body.subarray(index * size, (index + 1) * size);
      await this.stream.publish({ token: tokenOf(id, index), body: part, expected: 0 });
    });
    const sum = createHash('sha256').update(body).digest('base64url');
    return `${id} ${count} ${body.length} ${sum}`;
  }

  /** Undefined if something is missing. Rejects with a StoreError. */
  async read(named: string): Promise<string | undefined> {
    const found = namedIn(named);
    if (found === undefined) return undefined;
    const { id, count, bytes, sum } = found;
    const parts: Buffer[] = new Array(count);
    await each(count, async (index) => {
      parts[index] = (await this.stream.last(tokenOf(id, index)))?.body ?? Buffer.alloc(0);
    });
    const body = Buffer.concat(parts);
    const isWhole =
      body.length === bytes && createHash('sha256').update(body).digest('base64url') === sum;
    return isWhole ? body.toString('utf8') : undefined;
  }

  /** Rejects with a StoreError. */
  async drop(named: string): Promise<void> {
    const { id, count } = namedIn(named) ?? { id: '', count: 0 };
    await each(count, async (index) => {
      const part = await this.stream.last(tokenOf(id, index));
      if (part !== undefined) await this.stream.erase([part]);
    });
  }
}

/** Of the value that a part belongs to, by the token of its subject. */
export function valueIdOf(token: string): string {
  return token.slice(0, token.indexOf('_'));
}

/** Of the value that these words of a record name. */
export function namedValueId(named: string | undefined): string | undefined {
  return named === undefined ? undefined : namedIn(named)?.id;
}

function tokenOf(id: string, index: number): string {
  return `${id}_${index}`;
}

function namedIn(text: string): Named | undefined {
  const [, id, count, bytes, sum] =
    /^([0-9a-f]{24}) (\d{1,6}) (\d{1,9}) (\S{43})$/.exec(text) ?? [];
  if (id === undefined || sum === undefined) return undefined;
  const named = { id, count: Number(count), bytes: Number(bytes), sum };
  return named.bytes <= mostBytes && named.count <= named.bytes ? named : undefined;
}

/** A few at a time. */
async function each(count: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) {
      next += 1;
      await work(next - 1);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, count) }, worker));
}
