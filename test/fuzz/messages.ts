// JSON-RPC messages of every kind, most of them right and each wrong in a way of its own now and then:
// a key twice, a key in disguise, an id of another type, a version that is none, both a result and an
// error. Also batches of them, and whole requests as clients of both eras send them.

import { knownKeys } from '../../src/wire/envelope-keys.ts';
import type { Dice } from '../simulation/random.ts';
import { inheritedNames, inheritedTexts } from './inherited-names.ts';
import { JsonWriter } from './json-writer.ts';

const methods: readonly [string, ...string[]] = [
  'tools/call',
  'tools\\/call',
  'tools/list',
  'initialize',
  'ping',
  'notifications/cancelled',
  'notifications/progress',
  'resources/read',
  '',
  '\\u0074ools/call',
  'é',
  ...inheritedNames,
];

const ids: readonly [string, ...string[]] = [
  '0',
  '1',
  '7',
  '-1',
  '-7',
  '4294967296',
  '9007199254740991',
  '-9007199254740991',
  '"1"',
  '""',
  '"a"',
  '"\\u0061"',
  '"\\ud800"',
  '"é🦀"',
  '"\\/"',
  ...inheritedTexts,
];

const wrongIds: readonly [string, ...string[]] = [
  'null',
  '1.0',
  '1.5',
  '1e3',
  '-0',
  '0.0',
  '9007199254740992',
  '9007199254740993',
  '-9007199254740992',
  '99999999999999999999',
  'true',
  '[]',
  '{}',
  '[1]',
];

const wrongVersions: readonly [string, ...string[]] = [
  '"1.0"',
  '2.0',
  '2',
  '"2.0 "',
  '" 2.0"',
  '"\\u0032.0"',
  '"2\\u002e0"',
  'null',
  '["2.0"]',
  '"2.00"',
];

const known = knownKeys as unknown as readonly [string, ...string[]];

/** How often a message is wrong in any one of the ways. */
const wrong = 0.025;

export class MessageWriter extends JsonWriter {
  /** One message, as text. */
  message(): string {
    const { dice } = this;
    const members = this.#envelope();
    if (dice.chance(0.1)) members.push([this.key(), this.value(2)]);
    if (dice.chance(0.3)) shuffle(members, dice);
    if (dice.chance(wrong)) members.push(dice.pick(members as [Pair, ...Pair[]]));
    if (dice.chance(wrong) && members[0]) {
      const [key, value] = dice.pick(members as [Pair, ...Pair[]]);
      members.push([disguised(key, dice), value]);
    }
    return this.space() + this.objectOf(members) + this.space();
  }

  batch(): string {
    const elements: string[] = [];
    for (let count = this.dice.between(0, 3); count > 0; count -= 1) {
      elements.push(this.dice.chance(0.9) ? this.message() : this.value(2));
    }
    return `${this.space()}[${this.list(elements)}]${this.space()}`;
  }

  objectOf(members: readonly Pair[]): string {
    return `{${this.list(members.map(([key, value]) => this.member(key, value)))}}`;
  }

  #envelope(): Pair[] {
    const { dice } = this;
    const members: Pair[] = [];
    const version = dice.chance(wrong) ? dice.pick(wrongVersions) : '"2.0"';
    if (!dice.chance(wrong)) members.push(['jsonrpc', version]);
    const id = dice.chance(wrong * 3) ? dice.pick(wrongIds) : dice.pick(ids);
    const kind = dice.pick(['request', 'request', 'notification', 'result', 'result', 'error']);
    const hasId = kind === 'request' || kind === 'result' || (kind === 'error' && dice.chance(0.8));
    if (hasId !== dice.chance(wrong)) members.push(['id', id]);
    if (kind === 'request' || kind === 'notification') {
      const method = dice.chance(wrong) ? this.scalar() : `"${dice.pick(methods)}"`;
      members.push(['method', method]);
      if (dice.chance(0.85)) members.push(['params', this.#carrier()]);
    } else if (kind === 'result') {
      members.push(['result', this.#carrier()]);
    } else {
      members.push(['error', this.#errorObject()]);
    }
    if (dice.chance(wrong)) members.push([dice.pick(['result', 'error', 'method', 'params']), '1']);
    return members;
  }

  /** What params and results are: objects with members that are looked up, and a `_meta`. */
  #carrier(): string {
    const { dice } = this;
    if (dice.chance(0.08)) return this.value(3);
    const members = this.#someMembers(dice.pick([0, 1, 2, 3, 5, 5, 18]));
    if (dice.chance(0.4)) members.push(['_meta', this.#meta()]);
    if (dice.chance(0.3)) shuffle(members, dice);
    return this.objectOf(members);
  }

  #meta(): string {
    if (this.dice.chance(0.05)) return this.value(2);
    return this.objectOf(this.#someMembers(this.dice.between(0, 4)));
  }

  #errorObject(): string {
    if (this.dice.chance(0.1)) return this.value(2);
    const members: Pair[] = [
      ['code', this.number()],
      ['message', this.string()],
    ];
    if (this.dice.chance(0.4)) members.push(['data', this.value(3)]);
    if (this.dice.chance(wrong)) members.push(...this.#someMembers(2));
    return this.objectOf(members);
  }

  /** Members with different keys, unless it is to be wrong. */
  #someMembers(count: number): Pair[] {
    const { dice } = this;
    const members: Pair[] = [];
    const taken = new Set(['_meta']);
    const mayRepeat = dice.chance(wrong);
    while (members.length < count) {
      const key = this.#memberKey();
      const decoded = JSON.parse(`"${key}"`) as string;
      if (taken.has(decoded) && !mayRepeat) {
        count -= 1;
        continue;
      }
      taken.add(decoded);
      members.push([key, this.value(3)]);
    }
    return members;
  }

  #memberKey(): string {
    const { dice } = this;
    if (dice.chance(0.1)) return `k${'é'.repeat(dice.between(30, 34))}${dice.between(0, 3)}`;
    if (dice.chance(0.3)) return this.dice.chance(0.97) ? plainKey(this.key()) : this.key();
    const key = dice.pick(known);
    if (dice.chance(wrong / 2)) return disguised(key, dice);
    return dice.chance(0.1) ? key.replaceAll('/', '\\/') : key;
  }
}

/** The inside of a key, and the text of its value. */
type Pair = readonly [key: string, value: string];

/** Escapes hide nothing here: a disguise of a known key is made on purpose only. */
function plainKey(key: string): string {
  return key.includes('\\u00') ? 'u' : key;
}

/** The same key with one of its letters escaped. */
function disguised(key: string, dice: Dice): string {
  if (key === '' || key.includes('\\')) return key;
  const at = dice.between(0, key.length - 1);
  const code = key.charCodeAt(at).toString(16).padStart(4, '0');
  return `${key.slice(0, at)}\\u${dice.chance(0.5) ? code : code.toUpperCase()}${key.slice(at + 1)}`;
}

function shuffle(items: Pair[], dice: Dice): void {
  for (let last = items.length - 1; last > 0; last -= 1) {
    const other = dice.between(0, last);
    [items[last], items[other]] = [items[other] as Pair, items[last] as Pair];
  }
}
