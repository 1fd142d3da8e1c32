// Headers of letters that are read by a pattern: what it reads is what JSON and the rules of frames say, and what it
// leaves to them is read by them.

import { describe, expect, it } from 'vitest';
import { Dice } from '../../../test/support/dice.ts';
import { type ClientFrame, decodeClientFrame, decodeHubFrame, type HubFrame } from './frames.ts';
import { headerText } from './header-text.ts';
import { letterHeaderIn, mailHeaderIn } from './letter-header.ts';

const texts = [
  'a',
  'call-1',
  '"',
  '\\',
  'é',
  '',
  ' ',
  'A',
  'x'.repeat(128),
  'x'.repeat(129),
  '{}',
  'a,b',
];
const numbers = [
  0,
  1,
  7.5,
  600_000,
  -1,
  1e21,
  2 ** 42,
  999_999_999_999,
  1e-7,
  Number.MAX_SAFE_INTEGER,
];

function frameOf(text: string): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt32BE(Buffer.byteLength(text));
  return Buffer.concat([head, Buffer.from(text)]);
}

/** With another order and a space, so that no pattern fits. */
function otherwise(text: string): Buffer {
  return frameOf(text.replace('{', '{ '));
}

function letters(dice: Dice): ClientFrame {
  const name = () => (dice.chance(0.7) ? 'call-1' : dice.pick(texts));
  const rest = {
    ...(dice.chance(0.5) && { seat: name() }),
    ...(dice.chance(0.5) && { about: name() }),
    ...(dice.chance(0.5) && { ttl: dice.pick(numbers) }),
  };
  const letter = { n: dice.pick(numbers), id: name(), to: name(), kind: name(), ...rest };
  if (dice.chance(0.5)) return { is: 'deliver', ...letter };
  return { is: 'tell', ...letter, ...(dice.chance(0.3) && { all: true }) };
}

function mails(dice: Dice): HubFrame {
  const name = () => (dice.chance(0.7) ? 'call-1' : dice.pick(texts));
  const role = dice.chance(0.3) ? null : name();
  const rest = {
    ...(dice.chance(0.5) && { about: name() }),
    ...(dice.chance(0.5) && { ttl: dice.pick(numbers) }),
    ...(dice.chance(0.3) && { credential: dice.pick([...texts, '0123456789abcdef']) }),
  };
  const from = { from: name(), seat: name(), role };
  return { is: 'mail', mail: dice.pick(numbers), id: name(), ...from, kind: name(), ...rest };
}

describe('the header of a letter', () => {
  it('is read the same by the pattern and as JSON, good or bad, in 40,000 cases', () => {
    const dice = new Dice('letter headers');
    let byPattern = 0;
    for (let round = 0; round < 20_000; round += 1) {
      const letter = headerText(letters(dice));
      const mail = headerText(mails(dice));
      expect(decodeClientFrame(frameOf(letter)), letter).toEqual(
        decodeClientFrame(otherwise(letter)),
      );
      expect(decodeHubFrame(frameOf(mail)), mail).toEqual(decodeHubFrame(otherwise(mail)));
      if (letterHeaderIn(letter) ?? mailHeaderIn(mail)) byPattern += 1;
    }
    expect(byPattern).toBeGreaterThan(1_000);
  });

  it('is read by the pattern as both sides write it', () => {
    const id = '5f0c7a52-8f0b-4f55-9d1c-0a1b2c3d4e5f';
    const letter = { n: 12, id, to: 'boss', kind: 'request', about: id, ttl: 59_999.5 } as const;
    for (const frame of [
      { is: 'deliver', ...letter },
      { is: 'tell', ...letter, seat: 's_1' },
    ] as const)
      expect(letterHeaderIn(headerText(frame))).toEqual(frame);
    const from = { from: 'ann.mcp', seat: 's', role: 'a role' } as const;
    const mail = {
      is: 'mail',
      mail: 3,
      id,
      ...from,
      kind: 'reply',
      about: id,
      ttl: 600_000,
    } as const;
    expect(mailHeaderIn(headerText(mail))).toEqual(mail);
    expect(mailHeaderIn(headerText({ ...mail, role: null }))).toEqual({ ...mail, role: null });
    const named = { ...mail, credential: '0123456789abcdef' };
    expect(mailHeaderIn(headerText(named))).toEqual(named);
  });
});
