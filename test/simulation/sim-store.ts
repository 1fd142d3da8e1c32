// The simulated storage: what was put is there later, unless it was lost. Every answer takes its
// time. It never rejects, as the contract of the store demands of a disk that fails.

import type { Collection, Store, StoreHealth } from '../../src/store/store.ts';
import type { World } from './world.ts';

export class SimStore implements Store {
  readonly #world: World;
  readonly #kept = new Map<string, string>();

  constructor(world: World) {
    this.#world = world;
  }

  collection(name: string): Collection {
    const { weather } = this.#world;
    return {
      get: async (key) => {
        await this.#moment();
        if (weather.strikes('store-forgets')) this.#kept.delete(`${name}/${key}`);
        const text = this.#kept.get(`${name}/${key}`);
        return text === undefined ? undefined : JSON.parse(text);
      },
      put: async (key, value) => {
        await this.#moment();
        this.#kept.set(`${name}/${key}`, JSON.stringify(value));
      },
      remove: async (key) => {
        await this.#moment();
        this.#kept.delete(`${name}/${key}`);
      },
      entries: () => Promise.resolve([]),
    };
  }

  health(): StoreHealth {
    return { ok: true };
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #moment(): Promise<void> {
    const { clock, dice, weather } = this.#world;
    const ms = weather.strikes('store-slow') ? dice.between(500, 3_000) : dice.between(0, 2);
    return new Promise((resolve) => void clock.later(ms, resolve));
  }
}
