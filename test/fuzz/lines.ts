// Lines of a pipe against the plainest way of cutting them: the whole stream is there, and is split at
// its newlines. Lines beyond the limit are refused once, with a true beginning and a true end, and the
// line after them is right again; nothing beyond the limit is ever held.

import { LineReader } from '../../src/wire/line-reader.ts';
import { Dice } from '../simulation/random.ts';
import { chunksOf } from './chunks.ts';
import { agree, shortly } from './disagreement.ts';
import { fingerprint } from './fingerprint.ts';
import { MessageWriter } from './messages.ts';
import { mutated } from './mutations.ts';
import type { Tally } from './tally.ts';

const headBytes = 4096;
const tailBytes = 256;
const limits: readonly [number, ...number[]] = [
  1, 16, 100, 255, 256, 257, 4095, 4096, 4097, 10_000,
];

/** A stream as a server or a client might write it. */
export function lineStream(dice: Dice): Buffer {
  const limit = dice.pick(limits);
  const pieces: Buffer[] = [];
  for (let count = dice.between(0, 12); count > 0; count -= 1) {
    pieces.push(someLine(dice, limit));
    if (count > 1 || dice.chance(0.6))
      pieces.push(Buffer.from(dice.pick(['\n', '\n', '\r\n', '\n\n'])));
  }
  return Buffer.concat(pieces);
}

function someLine(dice: Dice, limit: number): Buffer {
  switch (dice.between(0, 6)) {
    case 0:
      return Buffer.from(dice.pick(['', ' ', '\r', ' \t\r', '\0', '\0\0', '\x0b', '\r\r', 'a\rb']));
    case 1:
      return Buffer.alloc(Math.max(0, limit + dice.between(-2, 2)), 'x');
    case 2:
      return Buffer.alloc(dice.pick([256, 4096, 8192, 20_000]) + dice.between(-1, 1), 'é');
    case 3:
      return Buffer.from([0xff, 0xfe, 0x80, 0xc3, 0x28, dice.between(0, 255)]);
    default: {
      const text = Buffer.from(new MessageWriter(dice).message());
      return dice.chance(0.3) ? mutated(text, text, dice) : text;
    }
  }
}

interface Heard {
  readonly kind: 'line' | 'oversized' | 'oversized-end' | 'rest';
  readonly bytes: Buffer;
}

export function checkLines(stream: Buffer, tally: Tally): void {
  const dice = new Dice(fingerprint(stream));
  const limit = dice.pick(limits);
  const expected = expectedOf(stream, limit);
  for (let cut = 0; cut < 4; cut += 1) {
    const chunks = cut === 0 ? [stream] : chunksOf(stream, dice);
    const heard = heardOf(chunks, limit);
    const what = `in ${chunks.length} chunks with a limit of ${limit}`;
    agree(
      heard.length === expected.length,
      () => `${what}: heard ${kinds(heard)}, not ${kinds(expected)}`,
    );
    for (const [at, one] of heard.entries()) checkOne(one, expected[at] as Heard, limit, what);
  }
  for (const { kind } of expected) tally.count(kind);
}

function kinds(heard: readonly Heard[]): string {
  return shortly(heard.map(({ kind }) => kind).join(' '));
}

function heardOf(chunks: readonly Buffer[], limit: number): Heard[] {
  const heard: Heard[] = [];
  const reader = new LineReader(limit, {
    line: (bytes) => heard.push({ kind: 'line', bytes: Buffer.from(bytes) }),
    oversized: (bytes) => heard.push({ kind: 'oversized', bytes }),
    oversizedEnd: (bytes) => heard.push({ kind: 'oversized-end', bytes }),
  });
  for (const chunk of chunks) {
    reader.push(chunk);
    agree(
      reader.heldBytes <= limit,
      () => `${reader.heldBytes} bytes are held, the limit is ${limit}`,
    );
  }
  const rest = reader.end();
  if (rest !== null) heard.push({ kind: 'rest', bytes: rest });
  agree(reader.heldBytes === 0, () => 'something is held after the end');
  return heard;
}

/** For a line beyond the limit, the whole of it: what is heard is a part. */
function expectedOf(stream: Buffer, limit: number): Heard[] {
  const expected: Heard[] = [];
  let start = 0;
  for (let at = stream.indexOf(10); at >= 0; at = stream.indexOf(10, start)) {
    const bytes = stream.subarray(start, at);
    start = at + 1;
    if (bytes.length > limit)
      expected.push({ kind: 'oversized', bytes }, { kind: 'oversized-end', bytes });
    else if (!isBlank(bytes)) expected.push({ kind: 'line', bytes });
  }
  const rest = stream.subarray(start);
  if (rest.length > limit) expected.push({ kind: 'oversized', bytes: rest });
  else if (!isBlank(rest)) expected.push({ kind: 'rest', bytes: rest });
  return expected;
}

function isBlank(bytes: Buffer): boolean {
  return /^[ \t\r]*$/.test(bytes.toString('latin1'));
}

function checkOne(heard: Heard, expected: Heard, limit: number, what: string): void {
  agree(heard.kind === expected.kind, () => `${what}: heard ${heard.kind}, not ${expected.kind}`);
  const { bytes } = expected;
  const found = heard.bytes;
  if (heard.kind === 'oversized') {
    const least = Math.min(headBytes, limit + 1);
    const isHead = bytes.subarray(0, found.length).equals(found);
    agree(
      isHead && found.length >= least && found.length <= headBytes,
      () => `${what}: the head of ${found.length} bytes is not the line's`,
    );
  } else if (heard.kind === 'oversized-end') {
    const tail = bytes.subarray(-tailBytes);
    agree(
      found.equals(tail),
      () => `${what}: the tail of ${found.length} bytes is not the line's last ${tail.length}`,
    );
  } else {
    agree(
      found.equals(bytes),
      () => `${what}: a ${heard.kind} of ${found.length} bytes, not of ${bytes.length}`,
    );
  }
}
