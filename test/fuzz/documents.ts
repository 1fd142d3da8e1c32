// The documents that the scanner is held against the oracle with. Each is made from the seed and its
// own number alone, so that any one of them can be made again, whatever part of the work it fell to.

import { Dice } from '../simulation/random.ts';
import { keptInputs } from './kept-inputs.ts';
import { MessageWriter } from './messages.ts';
import { mutated } from './mutations.ts';

/** Of so many documents in a row, the first few are one short message, cut at each of its bytes. */
const seriesEvery = 1_000;
const seriesLength = 100;
/** One in so many is at a limit that takes a large document to reach. */
const hugeEvery = 3_989;

const byteOrderMark = Buffer.from('\ufeff');
const kept = keptInputs('scanner').map(({ bytes }) => bytes);

export function documentAt(seed: number, index: number): Buffer {
  const step = index % seriesEvery;
  if (step < seriesLength) return cutAt(seed, index - step, step);
  const dice = new Dice(seed, index);
  if (index % hugeEvery === hugeEvery - 1) {
    return Buffer.from(huge(Math.floor(index / hugeEvery)));
  }
  const document = written(dice);
  if (dice.chance(0.002)) return Buffer.concat([byteOrderMark, document]);
  if (!dice.chance(0.32)) return document;
  const other = dice.chance(0.3) ? someKept(dice) : written(dice);
  return mutated(dice.chance(0.1) ? someKept(dice) : document, other, dice);
}

function someKept(dice: Dice): Buffer {
  return kept.length === 0 ? Buffer.alloc(0) : dice.pick(kept as [Buffer, ...Buffer[]]);
}

/** The same message for the whole series; it ends after `length` bytes. */
function cutAt(seed: number, series: number, length: number): Buffer {
  const dice = new Dice(seed, series);
  let text = new MessageWriter(dice).message();
  for (let tries = 0; tries < 8 && Buffer.byteLength(text) >= seriesLength; tries += 1) {
    text = new MessageWriter(dice).message();
  }
  const bytes = Buffer.from(text);
  return bytes.subarray(0, bytes.length - (length % (bytes.length + 1)));
}

function written(dice: Dice): Buffer {
  const writer = new MessageWriter(dice, 0.05);
  const kind = dice.next();
  if (kind < 0.72) return Buffer.from(writer.message());
  if (kind < 0.84) return Buffer.from(writer.space() + writer.value(6) + writer.space());
  if (kind < 0.93) return Buffer.from(writer.batch());
  if (kind < 0.965) return Buffer.from(deep(writer));
  return Buffer.from(wide(writer));
}

/** Around the depth that is the limit; seldom far beyond it. */
function deep(writer: MessageWriter): string {
  const { dice } = writer;
  const levels = dice.chance(0.02) ? 5_000 : dice.between(504, 516);
  const nested = writer.nested(levels - 2, dice.chance(0.5) ? writer.scalar() : '');
  const member = dice.pick(['params', 'result', 'error', 'x']);
  const rest: (readonly [string, string])[] = [
    ['jsonrpc', '"2.0"'],
    member === 'result' || member === 'error' ? ['id', '1'] : ['method', '"a"'],
  ];
  switch (dice.between(0, 3)) {
    case 0:
      return nested;
    case 1:
      return `[${writer.objectOf([...rest, [member, nested]])}]`;
    case 2:
      return writer.objectOf([...rest, [member, `{"_meta":${nested}}`]]);
    default:
      return writer.objectOf([...rest, [member, `{"a":${nested}}`]]);
  }
}

/** Many members: where the scanner changes how it compares. */
function wide(writer: MessageWriter): string {
  const { dice } = writer;
  const count = dice.between(13, 24);
  const members = manyMembers(count);
  if (dice.chance(0.2)) members.push(`"k${dice.between(0, count - 1)}":0`);
  if (dice.chance(0.1)) members.push(`"\\u006b${dice.between(0, count - 1)}":0`);
  return withMembers(members, dice.pick(['message', 'params', '_meta']));
}

/** One member or element more than there may be, then just as many, then one less, in turn. */
function huge(turn: number): string {
  const off = 1 - (Math.floor(turn / 5) % 3);
  switch (turn % 5) {
    case 0:
      return `[${Array(1_024 + off)
        .fill('1')
        .join(',')}]`;
    case 1: {
      const tools = Array(65_536 + off)
        .fill('1')
        .join(',');
      return `{"jsonrpc":"2.0","id":1,"result":{"tools":[${tools}]}}`;
    }
    case 2:
      return withMembers(manyMembers(16_384 + off), 'params');
    case 3:
      return withMembers(manyMembers(16_384 + off), '_meta');
    default:
      return withMembers([...manyMembers(16_380 + off), '"id":1'], 'message');
  }
}

function manyMembers(count: number): string[] {
  return Array.from({ length: count }, (_, at) => `"k${at}":${at}`);
}

function withMembers(members: readonly string[], where: 'message' | 'params' | '_meta'): string {
  const head = '{"jsonrpc":"2.0","id":1,"method":"a"';
  const text = members.join(',');
  if (where === 'message') return `${head},${text}}`;
  return `${head},"params":${where === 'params' ? `{${text}}` : `{"_meta":{${text}}}`}}`;
}
