// Clients that ask for lists over and over, as those of a gateway do: by the shipped code that decides
// which servers a list may start and how long it waits for them. They call nothing.

import { KnownLists } from '../../src/downstream/view/known-lists.ts';
import type { Dice } from './random.ts';
import type { Reign } from './reign.ts';

const listWaitMs = 2_000;

export class ListReaders {
  readonly #reign: Reign;
  readonly #dice: Dice;
  readonly #lists: KnownLists;

  constructor(reign: Reign, dice: Dice) {
    this.#reign = reign;
    this.#dice = dice;
    this.#lists = new KnownLists(reign.host, reign.tether, listWaitMs, [], () => {});
  }

  begin(): void {
    this.#reign.judge.listsAreRead();
    void this.#read();
  }

  async #read(): Promise<void> {
    await this.#lists.recalled();
    for (;;) {
      await this.#reign.tether.pause(this.#dice.between(500, 8_000));
      if (this.#reign.isClosing) return;
      await this.#lists.update(this.#reign.host.servers(), 'tools', undefined);
    }
  }
}
