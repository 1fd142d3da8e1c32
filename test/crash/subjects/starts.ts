// How starts went: kept beside the calls, so nothing waits for it. What was seen in its place survives a
// kill, and what was there when a life began survives a power cut; every record is one that a start
// could have written. Every life about it has a server it has never seen.

import type { Dice } from '../../support/dice.ts';
import type { CrashHome } from '../home.ts';
import type { Operation } from '../injected-faults/plan.ts';
import { keptRecords } from '../kept-records.ts';
import { PaperServer } from '../paper-server.ts';
import type { Shipped } from '../shipped.ts';
import {
  concerns,
  type Encounter,
  type Fate,
  replacements,
  type Subject,
  type Violation,
} from './subject.ts';

export class StartsSubject implements Subject {
  readonly name = 'starts';
  readonly under = ['store/starts'];
  readonly isAtStart = false;
  readonly moments = replacements(2);
  readonly #home: CrashHome;
  readonly #shipped: Shipped;
  readonly #server: PaperServer;
  /** Files that were seen in their place. */
  #seen = new Set<string>();
  /** Those that were there when this life began. */
  #before = new Set<string>();
  #spec = 0;

  constructor(home: CrashHome, shipped: Shipped) {
    this.#home = home;
    this.#shipped = shipped;
    this.#server = new PaperServer(home.file('fresh'));
    this.#server.offer(['{"name":"hello","inputSchema":{"type":"object"}}']);
  }

  servers() {
    return { fresh: this.#server.entry(this.#spec) };
  }

  prepare(_dice: Dice, op: Operation | null): void {
    if (op === 'mkdir') this.#home.wipe('store/starts');
    this.#spec += 1;
  }

  forget(part: string): void {
    if (concerns(this.under, part)) this.#seen.clear();
  }

  begin(): void {
    this.#before = this.#files();
    this.#observe();
  }

  async check(): Promise<readonly Violation[]> {
    return [];
  }

  async act({ client }: Encounter): Promise<readonly Violation[]> {
    await client.call('fresh__hello');
    this.#observe();
    return [];
  }

  examine({ isPowerCut }: Fate): readonly Violation[] {
    const { records, broken } = keptRecords(this.#shipped, this.#home, 'starts');
    const found: Violation[] = broken.map((text) => ({ wrong: 'lost', text: `starts/${text}` }));
    const left = this.#files();
    for (const file of isPowerCut ? this.#before : this.#seen) {
      if (!left.has(file)) found.push({ wrong: 'lost', text: `starts/${file} is gone` });
    }
    for (const { file, value } of records) {
      if (isOfAStart(value)) continue;
      found.push({ wrong: 'phantom', text: `starts/${file} holds ${JSON.stringify(value)}` });
    }
    this.#seen = left;
    return found;
  }

  #observe(): void {
    for (const file of this.#files()) this.#seen.add(file);
  }

  #files(): Set<string> {
    const { records } = keptRecords(this.#shipped, this.#home, 'starts');
    return new Set(records.map(({ file }) => file));
  }
}

function isOfAStart(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { version, startMs, late } = value as Readonly<Record<string, unknown>>;
  const isTime = startMs === undefined || (typeof startMs === 'number' && startMs >= 0);
  return version === 1 && isTime && Array.isArray(late);
}
