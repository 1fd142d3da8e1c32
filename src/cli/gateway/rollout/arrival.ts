// A successor on its way to serve: the steps of `rollout/successor.ts`, as a gateway that is being made goes through
// them, one after the other. Until the fence it waits with everything loaded; then it takes over what it is given, asks
// the holder to be the serving process, and serves. A step that fails ends the rollout, and this process.

import { ignored } from '../../../kernel/contain.ts';
import type { HolderClient } from '../../../rollout/holder-client.ts';
import { type Link, linkOver } from '../../../rollout/link.ts';
import type { PassedOn } from '../../../rollout/rollout-words.ts';
import type { ReadSnapshot } from '../../../rollout/snapshot.ts';
import { succeed } from '../../../rollout/successor.ts';

export class Arrival {
  readonly link: Link;
  /** What the former process was asked for meanwhile. */
  passedOn: (wish: PassedOn) => void = ignored;
  readonly #isLoaded = gate<void>();
  readonly #yours = gate<ReadSnapshot>();
  readonly #hasTaken = gate<void>();
  readonly #mayServe = gate<void>();
  readonly #serves = gate<void>();
  /** Resolves when this is the serving process. */
  readonly claimed: Promise<void> = this.#mayServe.opened;
  /** Resolves when it serves. */
  readonly #done: Promise<void>;

  constructor(holder: HolderClient, program: string, progress: (text: string) => void) {
    this.link = linkOver(holder.link());
    this.#done = succeed({
      link: this.link,
      instance: holder.instance,
      program,
      pid: process.pid,
      prepare: async () => {
        await this.#isLoaded.opened;
        return {
          take: (yours) => {
            this.#yours.open(yours);
            return this.#hasTaken.opened;
          },
          serve: () => {
            this.#mayServe.open();
            return this.#serves.opened;
          },
        };
      },
      claim: async () => {
        const isOurs = await holder.claim();
        if (isOurs) progress(`process ${process.pid} is the serving process`);
        return isOurs;
      },
      passedOn: (wish) => this.passedOn(wish),
    });
    this.#done.catch((error: unknown) => this.failed(error));
  }

  /** Everything is loaded: resolves at the fence, with what the former process has handed over. */
  yours(): Promise<ReadSnapshot> {
    this.#isLoaded.open();
    return this.#yours.opened;
  }

  /** Everything is taken over: resolves when this is the serving process. */
  taken(): Promise<void> {
    this.#hasTaken.open();
    return this.#mayServe.opened;
  }

  /** Clients can come. */
  async served(): Promise<void> {
    this.#serves.open();
    await this.#done;
  }

  /** Resolves when the former process has been told why. */
  async failed(error: unknown): Promise<void> {
    for (const one of [this.#isLoaded, this.#yours, this.#hasTaken, this.#mayServe, this.#serves]) {
      one.fail(error);
    }
    await this.#done.catch(ignored);
  }
}

interface Gate<T> {
  readonly opened: Promise<T>;
  open(value: T): void;
  fail(error: unknown): void;
}

function gate<T>(): Gate<T> {
  let open!: (value: T) => void;
  let fail!: (error: unknown) => void;
  const opened = new Promise<T>((resolve, reject) => {
    open = resolve;
    fail = reject;
  });
  opened.catch(ignored);
  return { opened, open, fail };
}
