// Watches the installed files: twice a second while changes are a reason for a rollout, and otherwise only while
// somebody wants to know. A change counts when it was the same for 200 ms; until then, and while a file is missing,
// they are settling. An error is told and looked at again. It has one timer, which keeps no process alive.

import type { Clock } from '../kernel/clock.ts';
import { type Caught, ignored } from '../kernel/contain.ts';
import type { InstalledLook } from './installed-files.ts';
import type { FilesState } from './rollout-state.ts';

export interface FilesWatchParts {
  readonly clock: Clock;
  /** Never rejects for what the system says. The first one is of what this process was started from. */
  readonly look: (isBrief: boolean) => Promise<InstalledLook>;
  /** They are in another state than was told before. */
  readonly changed: (state: FilesState) => void;
  readonly caught: Caught;
}

const pollMs = 500;
const settleMs = 200;
/** Each so many looks one is thorough. */
const thoroughEach = 10;

export class FilesWatch implements Disposable {
  readonly #parts: FilesWatchParts;
  /** Of the files that this process was started from; undefined: they were not looked at. */
  #base: string | undefined;
  /** What the last look has found. */
  #seen: InstalledLook | undefined;
  #told: FilesState = { kind: 'same' };
  #timer: Disposable | undefined;
  #looking: Promise<void> | undefined;
  #looks = 0;
  #isAsked = false;
  #isFollowing = false;
  #isOver = false;

  constructor(parts: FilesWatchParts) {
    this.#parts = parts;
    this.#look().catch(ignored);
  }

  get state(): FilesState {
    return this.#told;
  }

  /** Whether they are watched from now on without being asked for. */
  follow(isFollowing: boolean): void {
    this.#isFollowing = isFollowing;
    if (isFollowing) this.#lookIn(pollMs);
  }

  /** Looks now; resolves with what is found, which may still be settling, and goes on until it is stable. */
  async now(): Promise<FilesState> {
    await this.#looking;
    this.#isAsked = true;
    await this.#look();
    return this.#told;
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#timer?.[Symbol.dispose]();
  }

  #lookIn(ms: number): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    if (this.#isOver) return;
    this.#timer = this.#parts.clock.after(ms, () => this.#look().catch(ignored), true);
  }

  /** One at a time. */
  #look(): Promise<void> {
    this.#looking ??= this.#lookOnce().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #lookOnce(): Promise<void> {
    let look: InstalledLook;
    try {
      look = await this.#parts.look(this.#isBrief());
    } catch (error) {
      this.#parts.caught(error);
      look = { kind: 'unreadable', cause: 'unknown' };
    }
    if (this.#isOver) return;
    const before = this.#seen;
    this.#seen = look;
    if (look.kind === 'print') this.#base ??= look.print;
    this.#tell(this.#stateOf(look, before));
    const isSettling = this.#told.kind === 'settling';
    if (isSettling || this.#isFollowing) this.#lookIn(isSettling ? settleMs : pollMs);
  }

  /** What is not certain, and what somebody asks for, is looked at thoroughly. */
  #isBrief(): boolean {
    this.#looks += 1;
    const isAsked = this.#isAsked;
    this.#isAsked = false;
    return !isAsked && this.#told.kind !== 'settling' && this.#looks % thoroughEach !== 1;
  }

  #stateOf(look: InstalledLook, before: InstalledLook | undefined): FilesState {
    if (look.kind === 'unreadable') return look;
    if (look.kind === 'missing') return { kind: 'settling' };
    const { print } = look;
    if (print === this.#base) return { kind: 'same' };
    const isStable = before?.kind === 'print' && before.print === print;
    return isStable ? { kind: 'changed', print } : { kind: 'settling' };
  }

  #tell(state: FilesState): void {
    if (JSON.stringify(state) === JSON.stringify(this.#told)) return;
    this.#told = state;
    this.#parts.changed(state);
  }
}
