// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders are the subject

// Config files as people, programs and enemies write them: ours and those of other clients, each with
// a few things changed (wrong types, unknown keys, keys twice, keys that reach a prototype, variables
// in every state of completeness), written with comments, trailing commas, byte order marks and line
// ends of all kinds, and sometimes broken afterwards.

import type { Dice } from '../simulation/random.ts';
import { foreignFiles, ownFile, Pairs, Raw, type Value } from './config-files.ts';
import { inheritedNames } from './inherited-names.ts';
import { MessageWriter } from './messages.ts';
import { mutated } from './mutations.ts';

const words: readonly [string, ...string[]] = [
  '',
  'x',
  '${SECRET_A}',
  '${env:SECRET_A}',
  'Bearer ${SECRET_B}',
  '${UNSET}',
  '${env:UNSET:-default}',
  '${UNSET:-${SECRET_A}}',
  '${env:${SECRET_A}}',
  '$${SECRET_A}',
  '$$${SECRET_A}',
  '${',
  '${env:',
  '${SECRET_A',
  '}${',
  '${}',
  '${input:x\ny}',
  '${input:}',
  '${workspaceFolder}',
  '${userHome}/x',
  '${/}',
  '${SECRET_LINES}',
  '${EMPTY}',
  '${EMPTY:-x}',
  ...inheritedNames.map((name) => `\${${name}}`),
  ...inheritedNames,
  '${__proto__:-x}',
  'a\nb',
  'a\u0000b',
  '\u001b[31mred',
  '\u2028',
  '\ud800',
  'http://x',
  'javascript:alert(1)',
  'file:///etc/passwd',
  '../../etc/passwd',
  '/dev/null',
  'a'.repeat(5000),
  '${A'.repeat(2000),
  '${SECRET_A}'.repeat(50),
];

const strangeKeys: readonly [string, ...string[]] = [
  ...inheritedNames,
  'prototype',
  '',
  ' ',
  'mcpServers',
  'mcpserver',
  'servers',
  'comand',
  'Files',
  'files',
  'a\nb',
  'a"b',
  '\u001b[31m',
  '\u202e',
  '${SECRET_A}',
  'k'.repeat(3000),
  '0',
  'disabled',
  'envFile',
  'type',
];

export function configText(dice: Dice): Buffer {
  let file: Value = dice.chance(0.6) ? ownFile : dice.pick(foreignFiles);
  for (let count = dice.pick([0, 0, 1, 1, 1, 2, 4]); count > 0; count -= 1)
    file = changed(file, dice);
  const text = written(file, dice, dice.pick([0, 0, 0.1, 0.4]));
  const marked = dice.chance(0.1) ? `\ufeff${text}` : text;
  const bytes = Buffer.from(marked);
  if (dice.chance(0.02)) return Buffer.from(new MessageWriter(dice).message());
  return dice.chance(0.2) ? mutated(bytes, bytes, dice) : bytes;
}

/** The same with one thing different, anywhere in it. */
function changed(value: Value, dice: Dice): Value {
  if (Array.isArray(value)) {
    const at = dice.between(0, Math.max(0, value.length - 1));
    if (value.length === 0 || dice.chance(0.2)) return [...value, strange(dice)];
    return value.map((item, index) => (index === at ? changed(item, dice) : item));
  }
  if (typeof value === 'string' && dice.chance(0.5)) return dice.pick(words);
  if (typeof value !== 'object' || value === null || dice.chance(0.04)) return strange(dice);
  if (value instanceof Raw) return value;
  const members = membersOf(value);
  const at = dice.between(0, members.length);
  if (at === members.length || dice.chance(0.1)) {
    return new Pairs([...members, [dice.pick(strangeKeys), strange(dice)]]);
  }
  const own = members[at] as [string, Value];
  if (dice.chance(0.05)) return new Pairs([...members, own]);
  if (dice.chance(0.05)) return new Pairs(members.filter((member) => member !== own));
  const [key, inner] = own;
  const name = dice.chance(0.1) ? dice.pick(strangeKeys) : key;
  return new Pairs(
    members.map((member) => (member === own ? [name, changed(inner, dice)] : member)),
  );
}

function membersOf(value: Pairs | { [key: string]: Value }): [string, Value][] {
  return value instanceof Pairs ? value.members : Object.entries(value);
}

function strange(dice: Dice): Value {
  if (dice.chance(0.002)) return huge(dice);
  switch (dice.between(0, 9)) {
    case 0:
      return dice.pick([null, true, false]);
    case 1:
      return dice.pick([0, -1, 1.5, 1e300, 2 ** 53, 2 ** 31, 1e-7]);
    case 2:
      return [];
    case 3:
      return {};
    case 4:
      return nested(dice.pick([3, 60, 64, 66, 200, 3000, 40_000]));
    case 5:
      return many(dice, dice.pick([30, 300]));
    case 6:
      return [dice.pick(words), dice.pick(words)];
    case 7:
      return new Pairs([[dice.pick(strangeKeys), dice.pick(words)]]);
    default:
      return dice.pick(words);
  }
}

/** What costs nothing to write and may cost much to read. */
function huge(dice: Dice): Value {
  const count = 20_000;
  switch (dice.between(0, 4)) {
    case 0:
      return '${A'.repeat(count);
    case 1:
      return '${UNSET} '.repeat(count);
    case 2:
      return new Pairs([['k'.repeat(10 * count), 1]]);
    case 3:
      return new Pairs(
        Array.from({ length: count }, (_, at) => ['-'.repeat(1 + (at % 7)), { at }]),
      );
    default:
      return many(dice, count);
  }
}

function nested(levels: number): Value {
  const pairs = Math.ceil(levels / 2);
  return new Raw(`${'{"a":['.repeat(pairs)}"deep"${']}'.repeat(pairs)}`);
}

function many(dice: Dice, count: number): Value {
  const stem = dice.pick(['k', 'é', '__', '-', 'files']);
  return new Pairs(
    Array.from({ length: count }, (_, at) => [
      dice.chance(0.5) ? stem + at : stem,
      dice.pick(words),
    ]),
  );
}

const comments: readonly [string, ...string[]] = [
  '// a comment\n',
  '/* a comment */',
  '/* "a": 1, */',
  '//\r\n',
  '\n',
  '\r\n',
  ' ',
  '\t',
  '// \u2028\n',
];

/** As JSON with comments; `noise` is how likely one stands at a place. */
function written(value: Value, dice: Dice, noise: number): string {
  const between = () => (dice.chance(noise) ? dice.pick(comments) : '');
  const write = (one: Value): string => {
    if (one instanceof Raw) return one.text;
    if (Array.isArray(one)) return `[${list(one.map(write))}]`;
    if (typeof one !== 'object' || one === null) return JSON.stringify(one);
    const members = membersOf(one).map(
      ([key, inner]) => `${JSON.stringify(key)}${between()}:${between()}${write(inner)}`,
    );
    return `{${list(members)}}`;
  };
  const list = (parts: readonly string[]) => {
    const text = parts.map((part) => between() + part + between()).join(',');
    return parts.length > 0 && dice.chance(noise) ? `${text},${between()}` : text;
  };
  return between() + write(value) + between();
}
