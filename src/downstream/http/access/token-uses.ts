// When each token was last used, for `token list`: forgetful, written at most once a minute for each token,
// and never waited for.

import { ignored } from '../../../kernel/contain.ts';
import { isRecord } from '../../../kernel/json-values.ts';
import type { Records } from '../../../store/contract/records.ts';

const betweenMs = 60_000;
/** Of a token that was revoked meanwhile nothing stays for ever. */
const ttlMs = 31_622_400_000;

interface TokenUse {
  /** Wall time. */
  readonly usedAt: number;
}

export function isTokenUse(value: unknown): value is TokenUse {
  return isRecord(value) && typeof value['usedAt'] === 'number';
}

export class TokenUses {
  readonly #records: Records;
  /** By id, what was written last; as many as there are tokens. */
  #written: ReadonlyMap<string, number> = new Map();

  constructor(records: Records) {
    this.#records = records;
  }

  /** By id, when each was last used; called again and again. */
  keep(uses: ReadonlyMap<string, number>): void {
    const written = new Map<string, number>();
    for (const [id, usedAt] of uses) {
      const before = this.#written.get(id);
      const isDue = before === undefined || usedAt - before >= betweenMs || usedAt < before;
      written.set(id, isDue ? usedAt : before);
      // What cannot be kept is missing in a list, and the store has said why.
      if (isDue) this.#records.put(id, { usedAt }, { ttlMs }).catch(ignored);
    }
    this.#written = written;
  }
}

/** By id, when each was last used. */
export async function lastUses(records: Records): Promise<ReadonlyMap<string, number>> {
  const entries = await records.entries();
  return new Map(
    entries.flatMap(({ key, value }) => (isTokenUse(value) ? [[key, value.usedAt]] : [])),
  );
}
