// What has been learnt of one server and holds beyond this run: which eras it speaks, whether it
// treats all classes of clients alike, and whether it asks for roots as soon as it is started. Facts
// expire after a week, because a server that was updated in place may have learnt something new.

import type { Collection } from '../store/store.ts';
import { isRecord } from '../upstream/classify.ts';
import type { EraKnowledge, EraMemory } from '../upstream/negotiate.ts';

export interface Facts extends EraKnowledge {
  /** Does it offer the same to every class of clients? Absent: not known yet. */
  readonly classes?: 'alike' | 'differ' | undefined;
  /** Does it ask for roots when it has been started, before it is called? */
  readonly asksAtStart?: boolean | undefined;
}

const keptMs = 7 * 24 * 60 * 60 * 1000;

export class ServerFacts implements EraMemory {
  readonly #collection: Collection;
  readonly #specHash: string;
  readonly #changed: (facts: Facts) => void;
  #facts: Facts = {};
  #recalling: Promise<void> | undefined;
  #keeping: Promise<void> = Promise.resolve();

  /** `changed` is told of everything new. */
  constructor(collection: Collection, specHash: string, changed: (facts: Facts) => void) {
    this.#collection = collection;
    this.#specHash = specHash;
    this.#changed = changed;
  }

  get now(): Facts {
    return this.#facts;
  }

  async known(): Promise<Facts> {
    await this.recall();
    return this.#facts;
  }

  /** Reads what an earlier run learnt, once. What was learnt since counts more. */
  recall(): Promise<void> {
    // A record that cannot be read is as good as none: the server is asked again.
    this.#recalling ??= this.#collection
      .get(this.#specHash)
      .then(factsIn, () => ({}))
      .then((before) => {
        if (Object.keys(before).length === 0) return;
        this.#facts = { ...before, ...this.#facts };
        this.#changed(this.#facts);
      });
    return this.#recalling;
  }

  learn(facts: Facts): void {
    const isNew = (Object.keys(facts) as (keyof Facts)[]).some(
      (key) => facts[key] !== this.#facts[key],
    );
    if (!isNew) return;
    this.#facts = { ...this.#facts, ...facts };
    this.#changed(this.#facts);
    // What is written must not be less than what an earlier run wrote.
    const kept = this.recall().then(() =>
      this.#collection.put(this.#specHash, this.#facts, { ttlMs: keptMs }),
    );
    // A disk that cannot be written is told in `status` by the store itself; a closed one is no loss.
    this.#keeping = kept.catch(() => {});
  }

  /** Resolves when what was learnt so far is kept, as well as the disk allows. */
  kept(): Promise<void> {
    return this.#keeping;
  }
}

/** What comes from the disk is checked like everything from outside. */
function factsIn(record: unknown): Facts {
  if (!isRecord(record)) return {};
  const { legacy, modern, classes, asksAtStart } = record;
  return {
    ...(typeof legacy === 'boolean' ? { legacy } : {}),
    ...(typeof modern === 'boolean' ? { modern } : {}),
    ...(classes === 'alike' || classes === 'differ' ? { classes } : {}),
    ...(typeof asksAtStart === 'boolean' ? { asksAtStart } : {}),
  };
}
