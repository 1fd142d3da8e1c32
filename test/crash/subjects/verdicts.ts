// Era verdicts: once a call through a new server was answered, the gateway knows for good which era
// that server speaks, and does not probe a legacy one again. Every life has a server it has never seen.
// A gateway that is killed between two answers of a server has kept what the first one said: a record
// may say less than the whole, but nothing that is not so.

import { basename } from 'node:path';
import type { Dice } from '../../support/dice.ts';
import type { CrashHome } from '../home.ts';
import type { Operation } from '../injected-faults/plan.ts';
import { type KeptRecord, keptRecords } from '../kept-records.ts';
import { PaperServer } from '../paper-server.ts';
import type { Shipped } from '../shipped.ts';
import { concerns, type Encounter, replacements, type Subject, type Violation } from './subject.ts';

type Era = 'legacy' | 'modern';

export class VerdictsSubject implements Subject {
  readonly name = 'verdicts';
  readonly under = ['store/verdicts'];
  readonly isAtStart = false;
  readonly moments = replacements(1);
  readonly #home: CrashHome;
  readonly #shipped: Shipped;
  readonly #server: PaperServer;
  /** Verdicts that were acknowledged, by their file. */
  readonly #acknowledged = new Map<string, Era>();
  /** What each server of this subject speaks, by the file of its verdict; all others are legacy. */
  readonly #eras = new Map<string, Era>();
  #spec = 0;
  #era: Era = 'legacy';

  constructor(home: CrashHome, shipped: Shipped) {
    this.#home = home;
    this.#shipped = shipped;
    this.#server = new PaperServer(home.file('era'));
    this.#server.offer(['{"name":"hello","inputSchema":{"type":"object"}}']);
  }

  servers() {
    return { era: this.#server.entry(this.#spec) };
  }

  prepare(dice: Dice, op: Operation | null): void {
    if (op === 'mkdir') this.#home.wipe('store/verdicts');
    this.#spec += 1;
    this.#era = dice.pick(['legacy', 'modern'] as const);
    this.#server.speak(this.#era);
    this.#eras.set(this.#file, this.#era);
  }

  forget(part: string): void {
    if (concerns(this.under, part)) this.#acknowledged.clear();
  }

  begin(): void {}

  async check(): Promise<readonly Violation[]> {
    return [];
  }

  async act({ client }: Encounter): Promise<readonly Violation[]> {
    const probes = this.#server.probes;
    await client.call('era__hello');
    const file = this.#file;
    const kept = this.#kept().get(file);
    if (!speaks(kept, this.#era)) {
      const text = `an answered call of a ${this.#era} server left ${JSON.stringify(kept)}`;
      return [{ wrong: 'lost', text }];
    }
    const isKnown = this.#acknowledged.has(file);
    this.#acknowledged.set(file, this.#era);
    if (!isKnown || this.#era === 'modern' || this.#server.probes === probes) return [];
    return [{ wrong: 'lost', text: 'a server known to be legacy was probed again' }];
  }

  examine(): readonly Violation[] {
    const { records, broken } = keptRecords(this.#shipped, this.#home, 'verdicts');
    const found: Violation[] = broken.map((text) => ({ wrong: 'lost', text: `verdicts/${text}` }));
    const kept = valuesOf(records);
    for (const [file, era] of this.#acknowledged) {
      if (speaks(kept.get(file), era)) continue;
      const now = JSON.stringify(kept.get(file));
      found.push({ wrong: 'lost', text: `verdict ${era} in ${file} is now ${now}` });
      this.#acknowledged.delete(file);
    }
    for (const [file, value] of kept) {
      if (isTrueOf(value, this.#eras.get(file) ?? 'legacy')) continue;
      found.push({ wrong: 'phantom', text: `${file} holds the verdict ${JSON.stringify(value)}` });
    }
    return found;
  }

  /** Where the verdict about the server of this life belongs. */
  get #file(): string {
    const entry = this.#server.entry(this.#spec);
    return basename(this.#shipped.recordOf('verdicts', entry, this.#home.folder));
  }

  #kept(): ReadonlyMap<string, unknown> {
    return valuesOf(keptRecords(this.#shipped, this.#home, 'verdicts').records);
  }
}

/** Does a kept record say that the server speaks this era? */
function speaks(record: unknown, era: Era): boolean {
  return typeof record === 'object' && record !== null && Reflect.get(record, era) === true;
}

/**
 * Every member of it is so, and has the time at which it was shown; all paper servers answer `initialize`,
 * and none of them asks anybody.
 */
function isTrueOf(record: unknown, era: Era): boolean {
  if (typeof record !== 'object' || record === null) return false;
  const facts = { legacy: true, modern: era === 'modern', classes: 'alike', asksAtStart: false };
  const { shownAt, version, ...members } = record as {
    readonly shownAt?: unknown;
    readonly version?: unknown;
  };
  if (version !== 1) return false;
  const names = Object.keys(members);
  const isSo = (name: string) => Reflect.get(facts, name) === Reflect.get(members, name);
  return names.length > 0 && names.every((name) => isSo(name) && isTimeIn(shownAt, name));
}

function isTimeIn(times: unknown, name: string): boolean {
  if (typeof times !== 'object' || times === null) return false;
  const at = Reflect.get(times, name);
  return typeof at === 'number' && at > 0 && at <= Date.now();
}

function valuesOf(records: readonly KeptRecord[]): ReadonlyMap<string, unknown> {
  return new Map(records.map(({ file, value }) => [file, value]));
}
