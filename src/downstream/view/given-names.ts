// The names and addresses that a gateway has assigned, stored across restarts: after a restart the
// same call goes to the same server, although another server may claim its name meanwhile. One
// record for each config file and kind of name. Data from the disk is validated; invalid entries
// are ignored.

import { hash } from 'node:crypto';
import type { Owner } from '../../catalog/naming.ts';
import { isRecord } from '../../kernel/json-values.ts';
import type { Records } from '../../store/contract/records.ts';

const version = 1;

export class GivenNames {
  readonly #records: Records;
  readonly #key: string;
  #stored: ReadonlyMap<string, Owner> = new Map();
  #kept = '[]';

  /** `scope` says whose names these are: the config file, the kind, the mode. */
  constructor(records: Records, scope: readonly (string | null)[]) {
    this.#records = records;
    this.#key = hash('sha256', JSON.stringify(scope), 'hex');
  }

  async recall(): Promise<ReadonlyMap<string, Owner>> {
    const record = (await this.#records.get(this.#key))?.value;
    const names = isRecord(record) && record['version'] === version ? record['names'] : undefined;
    const given = new Map(Array.isArray(names) ? names.flatMap(entryOf) : []);
    this.#stored = given;
    this.#kept = textOf(given);
    return given;
  }

  /**
   * Writes them if they are not the same as before. What is for a single client only (not
   * `isShared`) may hold something that this client has said: it is not written.
   */
  keep(given: Iterable<readonly [string, Owner]>, isShared: (owner: Owner) => boolean): void {
    const kept = new Map(
      [...given].filter(([exposed, owner]) => isShared(owner) || this.#isStored(exposed, owner)),
    );
    const text = textOf(kept);
    if (text === this.#kept) return;
    this.#stored = kept;
    this.#kept = text;
    const names = [...kept].map(([exposed, { server, name }]) => [exposed, server, name]);
    // A disk that cannot be written is reported in `status` by the store itself; a closed one does
    // not matter.
    this.#records.put(this.#key, { version, names }).catch(() => {});
  }

  #isStored(exposed: string, { server, name }: Owner): boolean {
    const stored = this.#stored.get(exposed);
    return stored?.server === server && stored.name === name;
  }
}

/** Is this a record of names, of this version or another? */
export function isNamesRecord(record: unknown): boolean {
  if (!isRecord(record) || typeof record['version'] !== 'number') return false;
  return record['version'] !== version || Array.isArray(record['names']);
}

/** In no order: a list that comes in another order has the same names. */
function textOf(given: ReadonlyMap<string, Owner>): string {
  const entries = [...given].map(([exposed, { server, name }]) =>
    JSON.stringify([exposed, server, name]),
  );
  return `[${entries.sort().join(',')}]`;
}

function entryOf(entry: unknown): readonly (readonly [string, Owner])[] {
  const [exposed, server, name] = Array.isArray(entry) ? (entry as unknown[]) : [];
  return typeof exposed === 'string' && typeof server === 'string' && typeof name === 'string'
    ? [[exposed, { server, name }]]
    : [];
}
