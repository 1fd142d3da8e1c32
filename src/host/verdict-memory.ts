// Remembered eras on the host's store. A verdict expires after a week: a server that was updated
// in place would otherwise be spoken to in its old language for ever.

import type { Collection } from '../store/store.ts';
import type { Verdicts } from '../upstream/negotiate.ts';

const keptMs = 7 * 24 * 60 * 60 * 1000;

export function verdictMemory(collection: Collection): Verdicts {
  return {
    async get(specHash) {
      const era = await collection.get(specHash);
      return era === 'legacy' || era === 'modern' ? era : undefined;
    },
    put: (specHash, era) => collection.put(specHash, era, { ttlMs: keptMs }),
  };
}
