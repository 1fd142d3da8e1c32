// The config that a gateway uses, beside the file that it came from: since when it is used, and why the file as
// it is now is not, if that is so. Whoever operates the instance is told, because nothing else shows it.

import { stateOfFiles } from '../../config/file-state.ts';
import type { ReadConfig } from '../../config/load.ts';
import type { ConfigProblem, UsedConfig } from '../../instance/operations.ts';
import type { Clock } from '../../kernel/clock.ts';
import { Fault } from '../../kernel/fault.ts';

export class ConfigInUse {
  readonly #clock: Clock;
  readonly #read: () => Promise<ReadConfig>;
  #used: ReadConfig;
  #since: number;
  /** Called each time a config was taken over. */
  onTaken: () => void = () => {};
  /** The state of the files that were read last and not used. */
  #refused: string | undefined;

  /** `read` reads the file again, and throws a Fault if it cannot or must not be used. */
  constructor(used: ReadConfig, clock: Clock, read: () => Promise<ReadConfig>) {
    this.#used = used;
    this.#clock = clock;
    this.#since = clock.wallNow();
    this.#read = read;
  }

  /** What was taken over last; settings that need a new start may differ from what applies. */
  get used(): ReadConfig {
    return this.#used;
  }

  /** The files that it was read from. */
  get files(): readonly string[] {
    return this.#used.files;
  }

  /** The file as it is now. Throws a Fault if it cannot or must not be used. */
  async read(): Promise<ReadConfig> {
    const state = await stateOfFiles(this.files);
    try {
      return await this.#read();
    } catch (error) {
      this.#refused = state;
      throw error;
    }
  }

  /** From now on this one is used. */
  take(used: ReadConfig): void {
    if (used.state !== this.#used.state) this.#since = this.#clock.wallNow();
    this.#used = used;
    this.onTaken();
  }

  async facts(): Promise<UsedConfig> {
    return { since: this.#since, problem: await this.#problem() };
  }

  async #problem(): Promise<ConfigProblem | null> {
    const state = await stateOfFiles(this.files);
    if (state === this.#used.state) return null;
    try {
      await this.#read();
      // A change that was never refused is about to be taken over.
      return state === this.#refused ? { kind: 'waiting', detail: null } : null;
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      return { kind: error.code === 'denied' ? 'untrusted' : 'invalid', detail: error.message };
    }
  }
}
