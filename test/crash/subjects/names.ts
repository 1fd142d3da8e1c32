// Names that were given: two servers want the same one, and whoever has it keeps it, in this life and
// after every restart, although the server before it in the config came for it meanwhile. Who has it is
// read from what is kept, and from the list that clients see.

import { basename } from 'node:path';
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

/** The name that both want, and what each calls it itself. */
const wanted = 'wanted';
const wish = 'wish';

export class NamesSubject implements Subject {
  readonly name = 'names';
  readonly under = ['store/names'];
  readonly isAtStart = false;
  readonly moments = replacements(2);
  readonly #home: CrashHome;
  readonly #shipped: Shipped;
  readonly #early: PaperServer;
  readonly #late: PaperServer;
  readonly #known: KnownServers;
  /** Who was seen to have the name; null: nobody need have it. */
  #owner: string | null = null;
  /** Who had it when this life began. */
  #before: string | null = null;

  constructor(home: CrashHome, shipped: Shipped) {
    this.#home = home;
    this.#shipped = shipped;
    this.#early = new PaperServer(home.file('early'));
    this.#late = new PaperServer(home.file('late'));
    this.#late.offer([definition(wish, 'late')]);
    this.#known = new KnownServers(home, shipped, () => Object.values(this.servers()));
    this.#wants(false);
  }

  servers() {
    const tools = { [wish]: { as: wanted } };
    return {
      early: { ...this.#early.entry(0), tools },
      late: { ...this.#late.entry(0), tools },
    };
  }

  prepare(dice: Dice, op: Operation | null): void {
    if (op === 'mkdir' || dice.chance(0.3)) this.#home.wipe('store/names');
    // Once the other one has it, this one may come for it at any time.
    this.#wants(this.#owner === 'late' || dice.chance(0.3));
  }

  forget(part: string): void {
    if (concerns(this.under, part)) this.#owner = null;
    this.#known.forget(part);
  }

  begin(): void {
    const kept = this.#kept();
    // An owner who is asked again may want it no more: then it is the other's.
    const isLasting = this.#known.begin() && kept !== null && this.#isKeptOf(kept);
    this.#before = isLasting ? kept : null;
    if (!isLasting) this.#owner = null;
    this.#owner ??= this.#before;
  }

  async check({ client }: Encounter): Promise<readonly Violation[]> {
    if (this.#before === null) return [];
    const { text } = await client.tools();
    return this.#judgeList(text, this.#before);
  }

  async act({ client }: Encounter): Promise<readonly Violation[]> {
    const before = await client.tools();
    this.#owner ??= this.#keptAndSeen(before.text);
    this.#wants(true);
    await client.call('early__announce');
    const { text } = await client.tools();
    const found = this.#owner === null ? [] : this.#judgeList(text, this.#owner);
    this.#owner ??= this.#keptAndSeen(text);
    this.#known.observe();
    return found;
  }

  examine(fate: Fate): readonly Violation[] {
    const { broken } = keptRecords(this.#shipped, this.#home, 'names');
    const found: Violation[] = broken.map((text) => ({ wrong: 'lost', text: `names/${text}` }));
    found.push(...this.#known.examine(fate));
    const due = fate.isPowerCut ? this.#before : this.#owner;
    const kept = this.#kept();
    if (due !== null && kept !== due) {
      found.push({ wrong: 'lost', text: `${wanted} was ${due}'s and is kept as ${kept}'s` });
    }
    this.#owner = kept;
    return found;
  }

  /** What clients see under the name must be its owner's. */
  #judgeList(text: string, owner: string): readonly Violation[] {
    const other = owner === 'early' ? 'late' : 'early';
    if (!text.includes(definition(wanted, other))) return [];
    return [{ wrong: 'lost', text: `${wanted} was ${owner}'s, and clients see ${other}'s` }];
  }

  /** A new owner is seen before he is kept: until both agree nobody need have it. */
  #keptAndSeen(text: string): string | null {
    const kept = this.#kept();
    return kept !== null && text.includes(definition(wanted, kept)) ? kept : null;
  }

  #wants(isWanted: boolean): void {
    const own = definition('announce', 'early');
    this.#early.offer(isWanted ? [own, definition(wish, 'early')] : [own]);
  }

  /** Is its list kept, with the name in it? */
  #isKeptOf(server: string): boolean {
    const entry = new Map<string, object>(Object.entries(this.servers())).get(server) ?? {};
    const file = basename(this.#shipped.recordOf('catalogues', entry, this.#home.folder));
    const { records } = keptRecords(this.#shipped, this.#home, 'catalogues');
    const record = records.find((one) => one.file === file);
    return JSON.stringify(record?.value ?? null).includes(
      JSON.stringify(definition(wish, server)).slice(1, -1),
    );
  }

  #kept(): string | null {
    const { records } = keptRecords(this.#shipped, this.#home, 'names');
    for (const { value } of records) {
      const { names } = value as { readonly names: readonly (readonly string[])[] };
      const entry = names.find(([exposed]) => exposed === wanted);
      if (entry !== undefined) return entry[1] ?? null;
    }
    return null;
  }
}

function definition(name: string, server: string): string {
  return `{"name":"${name}","description":"of ${server}","inputSchema":{"type":"object"}}`;
}
