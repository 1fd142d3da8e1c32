// The config file of the gateway that listens, as people and their editors change it: written over, replaced by
// a rename, written in two steps, made a link to a file elsewhere; and for a while no config at all. What
// changes is what must not disturb anybody: a server comes or goes, a limit changes, a tool is hidden.

import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pauseMs } from '../client.ts';
import type { ChaosConfig } from '../gateway.ts';
import { veiledTool } from '../servers.ts';

export const manners = ['written', 'renamed', 'in two steps', 'through a link'] as const;
export type Manner = (typeof manners)[number];

/** What the edits have changed. */
export interface Edition {
  readonly hasGuest: boolean;
  readonly isLimited: boolean;
  readonly isVeiled: boolean;
}

export class ConfigFile {
  readonly #file: string;
  readonly #base: ChaosConfig;
  #links = 0;
  #turn: Promise<unknown> = Promise.resolve();
  #place: Promise<unknown> = Promise.resolve();

  constructor(file: string, base: ChaosConfig) {
    this.#file = file;
    this.#base = base;
  }

  /** One after the other: when nobody has a turn it is a config. */
  alone<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => {});
    return done;
  }

  /**
   * The same: nobody has a turn while it is a link. An instance is found by the real path of its config, so that a process
   * which is started then has the state of another one.
   */
  inPlace<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#place.then(work);
    this.#place = done.catch(() => {});
    return done;
  }

  /** `stepMs`: how long it is half written, if it is written in two steps. */
  async write(edition: Edition, manner: Manner, stepMs: number): Promise<void> {
    const text = this.#text(edition);
    if (manner === 'in two steps') {
      writeFileSync(this.#file, text.slice(0, text.length / 2));
      await pauseMs(stepMs);
    }
    if (manner === 'renamed') return this.#replace((draft) => writeFileSync(draft, text));
    if (manner === 'through a link') {
      const elsewhere = this.#elsewhere();
      writeFileSync(elsewhere, text);
      return this.#replace((draft) => symlinkSync(elsewhere, draft));
    }
    writeFileSync(this.#file, text);
  }

  /** No config for a while: half of one, or one with a word that nobody knows. */
  spoil(isHalf: boolean, edition: Edition): void {
    const text = this.#text(edition);
    const unknown = JSON.stringify({ ...this.#base, nobodyKnowsThis: true });
    this.#replace((draft) => writeFileSync(draft, isHalf ? text.slice(0, -10) : unknown));
  }

  #replace(make: (draft: string) => void): void {
    this.#links += 1;
    const draft = `${this.#file}.${this.#links}`;
    make(draft);
    renameSync(draft, this.#file);
  }

  /** In one of two folders, so that it is another one each time. */
  #elsewhere(): string {
    const folder = join(dirname(this.#file), `elsewhere-${this.#links % 2}`);
    mkdirSync(folder, { recursive: true });
    return join(folder, 'holdfast.json');
  }

  #text({ hasGuest, isLimited, isVeiled }: Edition): string {
    const { guest, limited, veiled, ...others } = this.#base.mcpServers;
    const { tools } = veiled as { readonly tools: object };
    const mcpServers = {
      ...others,
      limited: { ...limited, concurrency: isLimited ? 48 : 64 },
      veiled: { ...veiled, tools: { ...tools, [veiledTool]: { hidden: isVeiled } } },
      ...(hasGuest ? { guest } : {}),
    };
    return JSON.stringify({ ...this.#base, mcpServers }, null, 2);
  }
}
