// Server-sent events against a parser of their own, written from the rules of the HTML standard (9.2.6,
// "Interpreting an event stream") in the simplest way: on the whole stream, line by line. Where the
// reader means to differ, it says so here.

import { EventStreamReader } from '../../src/upstream/http/sse-events.ts';
import { Dice } from '../simulation/random.ts';
import { chunksOf } from './chunks.ts';
import { agree, shortly } from './disagreement.ts';
import { fingerprint } from './fingerprint.ts';
import { inheritedNames } from './inherited-names.ts';
import { MessageWriter } from './messages.ts';
import { mutated } from './mutations.ts';
import type { Tally } from './tally.ts';

/**
 * Where the reader and the standard part: an event without data is not handed on (it only marks a
 * place); bytes stay bytes and are not decoded; a wait of ten digits or more is no wait; after an
 * event beyond the limit nothing more is read.
 */
const mostDigits = 9;
const limits: readonly [number, ...number[]] = [20, 200, 5_000, 100_000];
/** The name of the field does not count against the limit. */
const grace = 64;

const lines: readonly [string, ...string[]] = [
  '',
  '',
  '',
  'data',
  'data:',
  'data: ',
  'data:  two',
  'data:{"a":1}',
  'data: {"é":"☃"}',
  'data: :',
  'event: message',
  'event: endpoint',
  'event',
  'event:',
  'id: 1',
  'id:2',
  'id',
  'id:',
  'id: ',
  'id: \u0001',
  'id: a\0b',
  'id: é',
  `id: ${'x'.repeat(5_000)}`,
  'retry: 0',
  'retry: 100',
  'retry: 00',
  'retry: 1234567890',
  'retry: -1',
  'retry: 1e3',
  'retry:',
  ': comment',
  ':',
  'unknown: x',
  'Data: x',
  ' data: x',
  'data : x',
  'dat',
  '\ufeffdata: marked',
  '\0',
  'data: \0',
  ...inheritedNames.flatMap((name) => [`${name}: x`, `event: ${name}`, `id: ${name}`]),
];

export function eventStream(dice: Dice): Buffer {
  const ends: readonly [string, ...string[]] = dice.pick([
    ['\n'],
    ['\r\n'],
    ['\r'],
    ['\n', '\r\n', '\r', '\n\n'],
  ]);
  let text = dice.chance(0.1) ? '\ufeff' : '';
  for (let count = dice.between(0, 20); count > 0; count -= 1) {
    const line = dice.chance(0.2)
      ? `data: ${oneLine(new MessageWriter(dice).message())}`
      : dice.pick(lines);
    text += line + (count > 1 || dice.chance(0.8) ? dice.pick(ends) : '');
    if (dice.chance(0.3)) text += dice.pick(ends);
  }
  const bytes = Buffer.from(text);
  return dice.chance(0.2) ? mutated(bytes, bytes, dice) : bytes;
}

function oneLine(text: string): string {
  return text.replace(/[\r\n]/g, ' ');
}

interface Heard {
  readonly event: string;
  readonly data: string;
  readonly id: string | undefined;
}

interface Reading {
  readonly events: readonly Heard[];
  readonly lastId: string | undefined;
  readonly retryMs: number | undefined;
}

export function checkEvents(stream: Buffer, tally: Tally): void {
  const dice = new Dice(fingerprint(stream));
  const expected = readByStandard(stream);
  for (let cut = 0; cut < 4; cut += 1) {
    const chunks = cut === 0 ? [stream] : chunksOf(stream, dice);
    const found = readInChunks(chunks, Number.MAX_SAFE_INTEGER);
    const what = `in ${chunks.length} chunks`;
    agree(found.oversized === 0, () => `${what}: taken for too large`);
    agree(
      shown(found) === shown(expected),
      () => `${what}: ${shortly(shown(found))}, not ${shortly(shown(expected))}`,
    );
  }
  checkLimit(stream, expected.events, dice, tally);
  tally.count('event', expected.events.length);
}

function shown({ events, lastId, retryMs }: Reading): string {
  return JSON.stringify({ retryMs, lastId, events });
}

/** Events up to the first beyond the limit are heard, in any cut, and none after. */
function checkLimit(stream: Buffer, events: readonly Heard[], dice: Dice, tally: Tally): void {
  const limit = dice.pick(limits);
  const found = readInChunks(chunksOf(stream, dice), limit);
  agree(found.oversized <= 1, () => 'more than one event is reported as too large');
  const isPrefix =
    shown({ ...found, lastId: undefined, retryMs: undefined }) ===
    shown({ events: events.slice(0, found.events.length), lastId: undefined, retryMs: undefined });
  agree(isPrefix, () => `with a limit of ${limit} other events are heard`);
  const isWithin = found.events.every(({ data }) => data.length / 2 <= limit + grace);
  agree(isWithin, () => `an event beyond the limit of ${limit} is handed on`);
  if (found.oversized === 0) agree(found.events.length === events.length, () => 'events are lost');
  else tally.count('event beyond the limit');
}

function readInChunks(chunks: readonly Buffer[], limit: number): Reading & { oversized: number } {
  const events: Heard[] = [];
  let oversized = 0;
  const reader = new EventStreamReader(limit, {
    event: ({ event, data, id }) => events.push({ event, data: data.toString('hex'), id }),
    oversized: () => {
      oversized += 1;
    },
  });
  for (const chunk of chunks) reader.push(chunk);
  return { events, lastId: reader.lastId, retryMs: reader.retryMs, oversized };
}

/** In characters of one byte each, so that nothing is decoded on the way. */
function readByStandard(stream: Buffer): Reading {
  // "one leading U+FEFF BYTE ORDER MARK character must be ignored"
  const text = stream.toString('latin1').replace(/^\xef\xbb\xbf/, '');
  // "a CRLF pair, a single LF, or a single CR" ends a line; what follows the last is no line.
  const whole = text.split(/\r\n|\n|\r/).slice(0, -1);
  const events: Heard[] = [];
  let [data, type, idBuffer] = ['', '', undefined as string | undefined];
  let lastId: string | undefined;
  let retryMs: number | undefined;
  for (const line of whole) {
    if (line === '') {
      lastId = idBuffer;
      const bytes = Buffer.from(data.slice(0, -1), 'latin1');
      if (bytes.length > 0)
        events.push({ event: type || 'message', data: bytes.toString('hex'), id: lastId });
      [data, type] = ['', ''];
      continue;
    }
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'data') data += `${value}\n`;
    if (name === 'event') type = utf8(value);
    if (name === 'id' && !value.includes('\0')) idBuffer = utf8(value);
    if (name === 'retry' && /^[0-9]+$/.test(value) && value.length <= mostDigits)
      retryMs = Number(value);
  }
  return { events, lastId, retryMs };
}

function utf8(latin1: string): string {
  return Buffer.from(latin1, 'latin1').toString('utf8');
}
