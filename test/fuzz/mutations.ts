// Bytes changed in the ways that bytes get changed: flipped, lost, doubled, cut, spliced with others,
// and with something nasty put in between. Nothing here knows what the bytes mean.

import type { Dice } from '../simulation/random.ts';
import { inheritedNames } from './inherited-names.ts';

/** What is put in between; byte by byte, so that it need not be text. */
const nasty: readonly [Buffer, ...Buffer[]] = [
  ...[
    '"',
    '\\',
    '{',
    '}',
    '[',
    ']',
    ':',
    ',',
    '0',
    '01',
    '-',
    '.',
    'e',
    '+1',
    '1.',
    '.5',
    '1e',
    '-a',
    'tru',
    'nul',
    'TRUE',
    'NaN',
    'Infinity',
    "'",
    '/',
    '//',
    '/**/',
    '#',
    '\\u',
    '\\u12',
    '\\u12g4',
    '\\x41',
    '\\0',
    "\\'",
    '\0',
    '\x01',
    '\x1f',
    '\x0b',
    '\x0c',
    '\t',
    '\n',
    '\r',
    ' ',
    '\x7f',
    '""',
    '{}',
    '[]',
    ',,',
    '}}',
    ']]',
    '{"id":1}',
    ',"id":2',
    ',"\\u0069d":2',
    ...inheritedNames.map((name) => `"${name}":`),
    '\u00a0',
    '\u2028',
    '\ufeff',
    '\u3000',
  ].map((text) => Buffer.from(text)),
  // Not UTF-8: lone and missing continuations, overlong forms, surrogates, beyond U+10FFFF.
  ...[
    [0x80],
    [0xbf],
    [0xc0, 0x80],
    [0xc0, 0xaf],
    [0xc1, 0xbf],
    [0xc3],
    [0xe0, 0x80, 0xaf],
    [0xe0, 0x9f, 0xbf],
    [0xe2, 0x82],
    [0xed, 0xa0, 0x80],
    [0xed, 0xbf, 0xbf],
    [0xf0, 0x80, 0x80, 0xaf],
    [0xf0, 0x9f, 0xa6],
    [0xf4, 0x90, 0x80, 0x80],
    [0xf5, 0x80, 0x80, 0x80],
    [0xf8, 0x88, 0x80, 0x80, 0x80],
    [0xfe],
    [0xff],
    [0xef, 0xbb, 0xbf],
    [0xef, 0xbb],
    [0xc2, 0x22],
  ].map((bytes) => Buffer.from(bytes)),
] as unknown as readonly [Buffer, ...Buffer[]];

/** The bytes after one to four mutations. `other` is what they may be spliced with. */
export function mutated(bytes: Buffer, other: Buffer, dice: Dice): Buffer {
  let out = bytes;
  for (let count = dice.pick([1, 1, 1, 2, 3, 4]); count > 0; count -= 1) {
    out = mutatedOnce(out, other, dice);
  }
  return out;
}

function mutatedOnce(bytes: Buffer, other: Buffer, dice: Dice): Buffer {
  const at = dice.between(0, bytes.length);
  const end = Math.min(bytes.length, at + dice.pick([1, 1, 2, 5, 40]));
  switch (dice.between(0, 9)) {
    case 0: {
      const out = Buffer.from(bytes);
      if (at < out.length) out[at] = (out[at] as number) ^ (1 << dice.between(0, 7));
      return out;
    }
    case 1: {
      const out = Buffer.from(bytes);
      if (at < out.length) out[at] = dice.between(0, 255);
      return out;
    }
    case 2:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(end)]);
    case 3: {
      const piece = bytes.subarray(at, end);
      return Buffer.concat([bytes.subarray(0, end), piece, bytes.subarray(end)]);
    }
    case 4:
      return Buffer.concat([bytes.subarray(0, at), other.subarray(dice.between(0, other.length))]);
    case 5:
      return dice.chance(0.5) ? bytes.subarray(0, at) : bytes.subarray(at);
    case 6: {
      const piece = bytes.subarray(at, end);
      const elsewhere = dice.between(0, bytes.length);
      return Buffer.concat([bytes.subarray(0, elsewhere), piece, bytes.subarray(elsewhere)]);
    }
    case 7:
      return Buffer.concat([bytes.subarray(0, at), dice.pick(nasty), bytes.subarray(end)]);
    default:
      return Buffer.concat([bytes.subarray(0, at), dice.pick(nasty), bytes.subarray(at)]);
  }
}
