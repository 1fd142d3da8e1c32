// JSON in its nastiest spellings that are still JSON: numbers no double holds, escapes of every kind,
// lone surrogates, keys that mean something to JavaScript, every kind of white space, long strings
// and deep nesting. Now and then a document has a flaw: a token that is nearly JSON. Everything else
// that breaks a document is for the mutations.

import type { Dice } from '../simulation/random.ts';
import { flaws } from './flaws.ts';
import { inheritedNames } from './inherited-names.ts';

const numbers: readonly [string, ...string[]] = [
  '0',
  '-0',
  '1',
  '-1',
  '1.0',
  '0.1',
  '-0.0',
  '1e400',
  '-1e400',
  '1E+2',
  '1e-7',
  '0e0',
  '0E+0',
  '5e-324',
  '9007199254740991',
  '9007199254740992',
  '9007199254740993',
  '-9007199254740991',
  '-9007199254740992',
  '123456789012345678901234567890',
  '0.1000000000000000055511151231257827021181583404541015625',
  '1e0000000000000000000000001',
];

const units: readonly [string, ...string[]] = [
  'a',
  'id',
  ' ',
  '/',
  '\\/',
  '\\"',
  '\\\\',
  '\\n',
  '\\r',
  '\\t',
  '\\b',
  '\\f',
  '\\u0000',
  '\\u0041',
  '\\u0069\\u0064',
  '\\ud83e\\udd80',
  '\\uD800',
  '\\udc00',
  '\\udc00\\ud800',
  '\\uFEFF',
  '\\u2028',
  '\x7f',
  '\u0080',
  '\u00e9',
  '\u07ff',
  '\u0800',
  '\u2028',
  '\u2029',
  '\ufeff',
  '\ufffd',
  '\uffff',
  '🦀',
  '\u{10ffff}',
  '{',
  '}',
  '[',
  ']',
  ':',
  ',',
  'null',
  ...inheritedNames,
];

const keys: readonly [string, ...string[]] = [
  '',
  'a',
  'b',
  'id',
  'x',
  'name',
  '_meta',
  ...inheritedNames,
  'length',
  '0',
  'a/b',
  'a\\/b',
  '\\u0061',
  '\\u0069d',
  'é',
  '\\u00e9',
  '\\ud800',
  ' ',
  'method',
  'params',
];

const spaces: readonly [string, ...string[]] = [
  ' ',
  '\n',
  '\r',
  '\t',
  '\r\n',
  '  ',
  '\n\t ',
  ' '.repeat(40),
];

/** Where the scanner changes its way of going through a string. */
const lengths: readonly [number, ...number[]] = [
  3, 4, 31, 32, 33, 63, 64, 65, 66, 191, 192, 193, 223, 224, 1023, 1024, 1025, 1216, 1217, 3000,
];

export class JsonWriter {
  readonly dice: Dice;
  /** How likely there is space at a place where there may be. */
  readonly #spacing: number;
  readonly #flaw: string | undefined;

  /** `flawed` is how likely the document has a flaw. */
  constructor(dice: Dice, flawed = 0) {
    this.dice = dice;
    this.#spacing = dice.pick([0, 0, 0.1, 0.5]);
    this.#flaw = dice.chance(flawed) ? dice.pick(flaws) : undefined;
  }

  /** Space, or none. */
  space(): string {
    return this.dice.chance(this.#spacing) ? this.dice.pick(spaces) : '';
  }

  value(depth: number): string {
    const throwOf = this.dice.next();
    if (depth <= 0 || throwOf < 0.5) return this.scalar();
    return throwOf < 0.7 ? this.array(depth - 1) : this.object(depth - 1);
  }

  scalar(): string {
    if (this.#flaw !== undefined && this.dice.chance(0.3)) return this.#flaw;
    const throwOf = this.dice.next();
    if (throwOf < 0.3) return this.number();
    if (throwOf < 0.75) return this.string();
    return this.dice.pick(['true', 'false', 'null']);
  }

  number(): string {
    if (this.dice.chance(0.6)) return this.dice.pick(numbers);
    const { dice } = this;
    const sign = dice.chance(0.3) ? '-' : '';
    const whole = String(dice.between(0, dice.pick([9, 300, 2 ** 31, Number.MAX_SAFE_INTEGER])));
    const fraction = dice.chance(0.2) ? `.${dice.between(0, 999)}` : '';
    const exponent = dice.chance(0.2)
      ? `${dice.pick(['e', 'E'])}${dice.pick(['', '+', '-'])}${dice.between(0, 400)}`
      : '';
    return sign + whole + fraction + exponent;
  }

  string(): string {
    const { dice } = this;
    if (dice.chance(0.06)) return this.longString();
    let text = '';
    for (let count = dice.pick([0, 1, 1, 2, 3, 6]); count > 0; count -= 1) text += dice.pick(units);
    return `"${text}"`;
  }

  /** Mostly plain, so that it is one long run, with something else where a run may end. */
  longString(): string {
    const { dice } = this;
    const filler = dice.pick(['x', 'é', '🦀', 'plain text ', '\\u0041', '\x7f']);
    const plain = filler.repeat(Math.ceil(dice.pick(lengths) / filler.length));
    return `"${plain}${dice.chance(0.5) ? dice.pick(units) : ''}${dice.chance(0.2) ? plain : ''}"`;
  }

  array(depth: number): string {
    const elements: string[] = [];
    for (let count = this.dice.between(0, 4); count > 0; count -= 1) {
      elements.push(this.value(depth));
    }
    return `[${this.list(elements)}]`;
  }

  object(depth: number): string {
    const members: string[] = [];
    for (let count = this.dice.between(0, 4); count > 0; count -= 1) {
      members.push(this.member(this.key(), this.value(depth)));
    }
    return `{${this.list(members)}}`;
  }

  /** The inside of a key, between its quotes. */
  key(): string {
    return this.dice.chance(0.85) ? this.dice.pick(keys) : this.string().slice(1, -1);
  }

  member(key: string, value: string): string {
    return `"${key}"${this.space()}:${this.space()}${value}`;
  }

  list(parts: readonly string[]): string {
    if (parts.length === 0) return this.space();
    return parts.map((part) => this.space() + part + this.space()).join(',');
  }

  /** Arrays and objects inside each other, `depth` of them. */
  nested(depth: number, inner = ''): string {
    const isObject = this.dice.chance(0.5);
    const isMixed = this.dice.chance(0.3);
    let open = '';
    let close = '';
    for (let level = 0; level < depth; level += 1) {
      const isLast = level === depth - 1;
      const asObject = isMixed ? this.dice.chance(0.5) : isObject;
      open += asObject ? `{${isLast && inner === '' ? '' : '"a":'}` : '[';
      close = (asObject ? '}' : ']') + close;
    }
    return open + inner + close;
  }
}
