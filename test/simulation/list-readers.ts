// Clients that ask for lists over and over, as those of a gateway do: by the shipped code that decides
// which servers a list may start and how long it waits for them. They call nothing.

import { KnownLists } from '../../src/downstream/view/known-lists.ts';
import type { Dice } from './random.ts';
import type { Reign } from './reign.ts';
import type { Serving } from './serving.ts';

const listWaitMs = 2_000;

export class ListReaders {
  readonly #reign: Reign;
  readonly #dice: Dice;
  readonly #serving: Serving;
  readonly #lists: KnownLists;

  constructor(reign: Reign, dice: Dice) {
    this.#reign = reign;
    this.#dice = dice;
    this.#serving = reign.serving;
    const { host, tether } = this.#serving;
    this.#lists = new KnownLists(host, tether, listWaitMs, [], () => {});
  }

  begin(): void {
    this.#reign.judge.listsAreRead();
    void this.#read();
  }

  async #read(): Promise<void> {
    await this.#lists.recalled();
    for (;;) {
      await this.#reign.tether.pause(this.#dice.between(500, 8_000));
      // In a rollout others go on at the next process.
      if (this.#reign.isClosing || this.#reign.isLeaving) return;
      if (this.#reign.serving !== this.#serving) return;
      using _use = this.#serving.use();
      await this.#lists.update(this.#serving.host.servers(), 'tools', undefined);
    }
  }
}
