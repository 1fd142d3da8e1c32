// Kept catalogues: what a server offered is listed after a restart without starting it, byte for byte.
// Its definitions change from one version to the next while it is watched, and every definition says
// of which version it is: what is kept is one of the versions that there were, whole.

import type { Dice } from '../../support/dice.ts';
import type { CrashHome } from '../home.ts';
import type { Operation } from '../injected-faults/plan.ts';
import { keptRecords } from '../kept-records.ts';
import { PaperServer } from '../paper-server.ts';
import type { Shipped } from '../shipped.ts';
import { KnownServers } from './known-servers.ts';
import {
  concerns,
  type Encounter,
  type Fate,
  replacements,
  type Subject,
  type Violation,
} from './subject.ts';

const toolsEach = 12;

export class CataloguesSubject implements Subject {
  readonly name = 'catalogues';
  readonly under = ['store/catalogues'];
  readonly isAtStart = false;
  readonly moments = replacements(2);
  readonly #home: CrashHome;
  readonly #shipped: Shipped;
  readonly #server: PaperServer;
  readonly #known: KnownServers;
  /** The version that the server has now; every lower one has been there. */
  #version = 0;
  /** The lowest version that may be kept; null: none need be. */
  #acknowledged: number | null = null;
  /** What the last death has left. */
  #kept: number | null = null;
  /** Is it listed in this life without a start? */
  #isListed = false;

  constructor(home: CrashHome, shipped: Shipped) {
    this.#home = home;
    this.#shipped = shipped;
    this.#server = new PaperServer(home.file('paper'));
    this.#known = new KnownServers(home, shipped, () => [this.#server.entry(0)]);
    this.#change();
  }

  servers() {
    return { paper: this.#server.entry(0) };
  }

  prepare(_dice: Dice, op: Operation | null): void {
    if (op === 'mkdir') this.#home.wipe('store/catalogues');
    this.#change();
  }

  forget(part: string): void {
    if (concerns(this.under, part)) this.#acknowledged = null;
    this.#known.forget(part);
  }

  begin(): void {
    this.#kept = this.#read()?.version ?? null;
    this.#isListed = this.#known.begin();
  }

  async check({ client }: Encounter): Promise<readonly Violation[]> {
    if (this.#kept === null || !this.#isListed) return [];
    const before = this.#server.starts;
    const { text } = await client.tools();
    const found: Violation[] = [];
    if (this.#server.starts !== before) {
      found.push({ wrong: 'lost', text: 'a kept catalogue was listed by starting the server' });
    }
    const missing = definitions(this.#kept, 'paper__').filter((one) => !text.includes(one));
    if (missing.length > 0) {
      const words = `${missing.length} definitions of kept version ${this.#kept} are not listed as they were`;
      found.push({ wrong: 'lost', text: words });
    }
    return found;
  }

  async act({ client }: Encounter): Promise<readonly Violation[]> {
    await client.call('paper__tool_1');
    this.#observe();
    this.#change();
    await client.call('paper__announce');
    await client.tools();
    this.#observe();
    return [];
  }

  examine(fate: Fate): readonly Violation[] {
    const { broken } = keptRecords(this.#shipped, this.#home, 'catalogues');
    const found: Violation[] = broken.map((text) => ({
      wrong: 'lost',
      text: `catalogues/${text}`,
    }));
    found.push(...this.#known.examine(fate));
    const left = this.#read();
    const least = fate.isPowerCut ? this.#kept : this.#acknowledged;
    if (left === null) {
      if (least !== null) found.push({ wrong: 'lost', text: `catalogue ${least} is gone` });
      return found;
    }
    if (!left.isWhole || left.version > this.#version) {
      found.push({ wrong: 'phantom', text: `the catalogue is none that there was: ${left.text}` });
    } else if (least !== null && left.version < least) {
      found.push({ wrong: 'lost', text: `catalogue ${least} is ${left.version} again` });
    }
    this.#acknowledged = left.version;
    return found;
  }

  /** What is seen in its place survives a kill; whether it survives a power cut, nobody has said. */
  #observe(): void {
    this.#acknowledged = this.#read()?.version ?? this.#acknowledged;
    this.#known.observe();
  }

  #change(): void {
    this.#version += 1;
    this.#server.offer(definitions(this.#version, ''));
  }

  #read(): { version: number; isWhole: boolean; text: string } | null {
    const { records } = keptRecords(this.#shipped, this.#home, 'catalogues');
    for (const { value } of records) {
      const { classes } = value as { classes: { lists: { tools?: string } }[] };
      const text = classes.map(({ lists }) => lists.tools ?? '').join('');
      const version = Number(/paper version (\d+)/.exec(text)?.[1] ?? Number.NaN);
      if (Number.isNaN(version)) continue;
      return { version, isWhole: text === `[${definitions(version, '').join(',')}]`, text };
    }
    return null;
  }
}

/** The tools of one version, spelled in a way that any parsing and writing anew would change. */
function definitions(version: number, prefix: string): readonly string[] {
  const names = ['announce', ...Array.from({ length: toolsEach }, (_, n) => `tool_${n + 1}`)];
  return names.map(
    (name) =>
      `{"description":"of paper version ${version}","name":"${prefix}${name}",` +
      `"inputSchema":{"type":"object","maximum":1.0,"x":9007199254740993}}`,
  );
}
