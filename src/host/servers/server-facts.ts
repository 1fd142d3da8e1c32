// Facts about one server that are stored across runs: which eras it supports, whether it treats all
// classes of clients alike, and whether it asks for roots, when, and keeps them. A fact
// expires a week after the server last confirmed it, in a running host too, because a server that was
// updated in place may have changed. era-basis.ts decides whether the next start uses them. The
// disk is not waited for long: a start must not fail because our own disk hangs.

import { type Clock, within } from '../../kernel/clock.ts';
import { isRecord } from '../../kernel/json-values.ts';
import { ownValue } from '../../kernel/own-value.ts';
import type { Records } from '../../store/contract/records.ts';
import type { EraKnowledge, EraMemory } from '../../upstream/negotiate.ts';
import { type EraBasis, type EraBasisEvent, eraBasisStep, firstBasis } from './era-basis.ts';

export interface Facts extends EraKnowledge {
  /** Whether it offers the same to every class of clients. Absent: not known yet. */
  readonly classes?: 'alike' | 'differ' | undefined;
  /** Whether it asks for roots when it has been started, before it is called. */
  readonly asksAtStart?: boolean | undefined;
  /** Whether it asks for roots when it is asked for its lists, and not at a start without; only known if so. */
  readonly asksForLists?: boolean | undefined;
  /** Whether it has ever asked for roots. */
  readonly asksRoots?: boolean | undefined;
  /**
   * Whether it uses in a call the roots that it was told before: true if it has asked between calls, or
   * has not asked again in a later call; false if it did not ask when they changed.
   */
  readonly keepsRoots?: boolean | undefined;
  /** Whether it asks again when it is notified that roots have changed; only known if it does not. */
  readonly asksAfterRootsChange?: boolean | undefined;
  /** Whether it lists nothing before it has been told roots; only known if so. */
  readonly listsAfterRoots?: boolean | undefined;
}

/** Of the records; a higher one is of a newer Holdfast and stays. Those of earlier ones have none. */
export const factsVersion = 1;
const keptMs = 7 * 24 * 60 * 60 * 1000;
/** A confirmed fact is written again after this long. */
const renewMs = 24 * 60 * 60 * 1000;
/** How long a start waits for the disk. */
const diskMs = 1_000;

export type Ages = { readonly [key in keyof Facts]?: number };

/** For another process. */
export interface WrittenFacts {
  readonly now: Facts;
  /** Wall times. */
  readonly shownAt: Ages;
  readonly basis: EraBasis;
}

export class ServerFacts implements EraMemory {
  readonly #records: Records;
  readonly #specHash: string;
  readonly #clock: Clock;
  readonly #changed: (facts: Facts) => void;
  #facts: Facts = {};
  /** Wall time at which the server last showed each of them. */
  #shownAt: Ages = {};
  /** Not stored, because neither an exit nor a failed start is an answer. */
  #basis: EraBasis = firstBasis;
  /** What clients are served by: the facts as far as they are believed now. */
  #assumed: Facts = {};
  #recalling: Promise<void> | undefined;
  #keeping: Promise<void> = Promise.resolve();

  /** `changed` is called for every new fact. */
  constructor(records: Records, specHash: string, clock: Clock, changed: (facts: Facts) => void) {
    this.#records = records;
    this.#specHash = specHash;
    this.#clock = clock;
    this.#changed = changed;
  }

  /** What the server has shown. */
  get now(): Facts {
    return this.#facts;
  }

  /** What clients are served by: one that has ended at `initialize` is taken for modern for a while. */
  get assumed(): Facts {
    return this.#assumed;
  }

  /** The number of what a start begins with; see `startFailed`. */
  get basis(): number {
    return this.#basis.serial;
  }

  /** For the next start. Expired facts are removed here, before they decide anything again. */
  async known(): Promise<Facts> {
    await within(this.#clock, diskMs, this.recall());
    this.#forgetOld();
    const believed = this.#believed();
    // Where the probe is known to be answered, `initialize` costs a process at most: it is tried again.
    const isTriedAgain = believed.modern === true && !this.#basis.hasFailed;
    return isTriedAgain ? believed : this.#assumed;
  }

  /** Reads what an earlier run learnt, once. What was learnt since counts more. */
  recall(): Promise<void> {
    // A record that cannot be read counts as missing: the server is asked again.
    this.#recalling ??= this.#records
      .get(this.#specHash)
      .catch(() => undefined)
      .then((entry) => {
        const record = entry?.value;
        const before = factsIn(record);
        if (Object.keys(before).length === 0) return;
        this.#facts = { ...before, ...this.#facts };
        this.#shownAt = { ...agesIn(record, before, this.#clock.wallNow()), ...this.#shownAt };
        this.#tellChange();
      });
    return this.#recalling;
  }

  learn(facts: Facts): void {
    const isAboutLegacy = facts.legacy !== undefined;
    const isAboutEras = isAboutLegacy || facts.modern !== undefined;
    // An answer counts more than assumptions.
    if (isAboutEras && this.#basis.isDoubted) this.#facts = withoutEras(this.#facts);
    const keys = Object.keys(facts) as (keyof Facts)[];
    const isNew = keys.some((key) => facts[key] !== this.#facts[key]);
    if (isAboutEras) this.#step({ kind: 'answered', isAboutLegacy, isNew });
    const at = this.#clock.wallNow();
    const isDue = keys.some((key) => at - (this.#shownAt[key] ?? at) >= renewMs);
    if (!isNew && !isDue) return;
    this.#facts = { ...this.#facts, ...facts };
    this.#shownAt = { ...this.#shownAt, ...Object.fromEntries(keys.map((key) => [key, at])) };
    if (isNew) this.#tellChange();
    this.#keep();
  }

  // --- from one process to the next --------------------------------------------------------

  get written(): WrittenFacts {
    return { now: this.#facts, shownAt: this.#shownAt, basis: this.#basis };
  }

  /** What the process before this one had learnt counts more than what is stored. */
  restore({ now, shownAt, basis }: WrittenFacts): void {
    this.#facts = { ...this.#facts, ...now };
    this.#shownAt = { ...this.#shownAt, ...shownAt };
    this.#basis = basis;
    this.#tellChange();
  }

  notInitialized(): void {
    if (this.#step({ kind: 'not-initialized' })) this.#tellChange();
  }

  /** A start that began with this basis failed during the handshake, and no connection is left. */
  startFailed(basis: number): void {
    if (this.#step({ kind: 'start-failed', serial: basis })) this.#tellChange();
  }

  connected(): void {
    this.#step({ kind: 'connected' });
  }

  lastConnectionEnded(): void {
    this.#step({ kind: 'last-connection-ended' });
  }

  /** True if the next start begins with something else now. */
  #step(event: EraBasisEvent): boolean {
    const { serial } = this.#basis;
    this.#basis = eraBasisStep(this.#basis, event);
    this.#assumed = this.#assume();
    return this.#basis.serial !== serial;
  }

  #believed(): Facts {
    return this.#basis.isDoubted ? withoutEras(this.#facts) : this.#facts;
  }

  #assume(): Facts {
    const believed = this.#believed();
    const isModern = this.#basis.hasNotInitialized && believed.legacy === undefined;
    return isModern ? { ...believed, legacy: false } : believed;
  }

  #tellChange(): void {
    this.#assumed = this.#assume();
    this.#changed(this.now);
  }

  #keep(): void {
    // What is written must not be less than what an earlier run wrote.
    const kept = this.recall().then(async () => {
      const record = { ...this.#facts, shownAt: this.#shownAt, version: factsVersion };
      await this.#records.put(this.#specHash, record, { ttlMs: keptMs });
    });
    // A disk that cannot be written is reported in `status` by the store itself; a closed one does
    // not matter.
    this.#keeping = kept.catch(() => {});
  }

  #forgetOld(): void {
    const at = this.#clock.wallNow();
    const keys = Object.keys(this.#facts) as (keyof Facts)[];
    const young = keys.filter((key) => at - (this.#shownAt[key] ?? at) < keptMs);
    if (young.length === keys.length) return;
    this.#facts = Object.fromEntries(young.map((key) => [key, this.#facts[key]]));
    this.#tellChange();
  }

  /** Resolves when what was learnt so far is stored, or the disk takes too long. */
  kept(): Promise<void> {
    return within(this.#clock, diskMs, this.#keeping);
  }
}

function withoutEras({ modern: _modern, legacy: _legacy, ...others }: Facts): Facts {
  return others;
}

const flags = [
  'legacy',
  'modern',
  'asksAtStart',
  'asksForLists',
  'asksRoots',
  'keepsRoots',
  'asksAfterRootsChange',
  'listsAfterRoots',
] as const;

const isFlag = (value: unknown) => value === undefined || typeof value === 'boolean';

/** Is this a record of facts? */
export function isFacts(record: unknown): boolean {
  if (!isRecord(record)) return false;
  const { classes } = record;
  const isKnown = classes === undefined || classes === 'alike' || classes === 'differ';
  return isKnown && flags.every((flag) => isFlag(record[flag]));
}

/** Data from the disk is validated like everything from outside. */
function factsIn(record: unknown): Facts {
  if (!isRecord(record)) return {};
  const { classes } = record;
  const known = flags.filter((flag) => typeof record[flag] === 'boolean');
  return {
    ...Object.fromEntries(known.map((flag) => [flag, record[flag]])),
    ...(classes === 'alike' || classes === 'differ' ? { classes } : {}),
  };
}

/** A record of an earlier version has no ages: it begins to age now. */
function agesIn(record: unknown, facts: Facts, at: number): Ages {
  const shownAt = isRecord(record) && isRecord(record['shownAt']) ? record['shownAt'] : {};
  const ageOf = (key: string) => {
    const own = ownValue(shownAt, key);
    return typeof own === 'number' && own <= at ? own : at;
  };
  return Object.fromEntries(Object.keys(facts).map((key) => [key, ageOf(key)]));
}
