// Those who keep something in the host's store, as a gateway keeps its tokens: a few records, put,
// read, replaced and removed over and over, now and then without waiting for the last change. What
// they put, what they were told and what they read back is for the rules of the store to judge.

import type { Records } from '../../src/store/contract/records.ts';
import type { Dice } from './random.ts';
import type { Reign } from './reign.ts';
import { collectionName, type StoreRules } from './store-rules.ts';

const keys = ['a', 'b', 'c'] as const;

export class Keepers {
  readonly #reign: Reign;
  readonly #rules: StoreRules;
  readonly #dice: Dice;

  constructor(reign: Reign, dice: Dice) {
    this.#reign = reign;
    this.#rules = reign.judge.store;
    this.#dice = dice;
  }

  /** Of the process that serves. */
  get #kept(): Records {
    return this.#reign.host.records(collectionName, { durability: 'forgetful' });
  }

  begin(): void {
    for (const key of keys) void this.#keep(key);
  }

  async #keep(key: string): Promise<void> {
    // What an earlier life has left is looked at first.
    await this.#tried(() => this.#read(key));
    for (;;) {
      await this.#reign.tether.pause(this.#dice.between(1_000, 30_000));
      if (!(await this.#tried(() => this.#act(key)))) return;
    }
  }

  async #act(key: string): Promise<void> {
    const kind = this.#dice.between(0, 99);
    if (kind < 10) return this.#change(key, undefined);
    if (kind < 50) return this.#read(key);
    if (kind < 55) return this.#readAll();
    const next = () => this.#rules.nextValue(key);
    if (kind < 65) await Promise.all([this.#change(key, next()), this.#change(key, next())]);
    else await this.#change(key, next());
  }

  async #change(key: string, value: string | undefined): Promise<void> {
    const version = this.#rules.changes(key, value);
    this.#reign.world.trace.add(`${key} is put as ${value}`);
    await (value === undefined ? this.#kept.remove(key) : this.#kept.put(key, value));
    const { disk } = this.#reign.host.status();
    this.#reign.world.trace.add(`${key} was put as ${value}, ${disk.ok ? 'safely' : 'in memory'}`);
    this.#rules.changed(key, version, disk.ok);
  }

  async #read(key: string): Promise<void> {
    const reading = this.#rules.reads(key);
    const value = (await this.#kept.get(key))?.value;
    this.#reign.world.trace.add(`${key} reads as ${String(value)}`);
    this.#rules.read(key, reading, value);
  }

  async #readAll(): Promise<void> {
    const readings = new Map(keys.map((key) => [key as string, this.#rules.reads(key)]));
    for (const { key, value } of await this.#kept.entries()) {
      this.#rules.read(key, readings.get(key), value);
    }
  }

  /** A store never fails whoever uses it, until it is closed. */
  async #tried(work: () => Promise<void>): Promise<boolean> {
    try {
      await this.#reign.whileServing();
      const { serving } = this.#reign;
      using _use = serving.use();
      await Promise.race([work(), serving.gone]);
      return true;
    } catch (error) {
      if (!this.#reign.isClosing) this.#rules.failed(error);
      return false;
    }
  }
}
