// What this machine remembers of the streams of a NATS server: which one it was that held what is kept. A stream of the
// same name that was made anew while no process ran is noticed by that. It is in files, apart from the server.

import type { Records } from '../contract/records.ts';
import { StoreError } from '../store-error.ts';

export interface StreamMemory {
  /** Durable, on this machine. */
  readonly records: Records;
  /** Where they lie: removed, nothing is remembered. */
  readonly folder: string;
}

interface Remembered {
  readonly incarnation: string;
}

export function isRememberedStream(value: unknown): value is Remembered {
  const { incarnation } = (value ?? {}) as Partial<Remembered>;
  return typeof incarnation === 'string';
}

/** The one that is remembered, or this one from now on. A disk that refuses remembers nothing, and has said so. */
export async function rememberedStream(
  { records }: StreamMemory,
  key: string,
  incarnation: string,
): Promise<string> {
  try {
    const put = await records.putIfAbsent(key, { incarnation });
    const known = put.isPut ? undefined : put.entry?.value;
    return isRememberedStream(known) ? known.incarnation : incarnation;
  } catch (error) {
    if (error instanceof StoreError) return incarnation;
    throw error;
  }
}
