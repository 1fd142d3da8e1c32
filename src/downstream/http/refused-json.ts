// Turns a refusal of the scanner into a value, because it is a normal outcome here: the sender gets
// it as an answer.

import { WireError } from '../../wire/wire-error.ts';

/** What the scanner makes of it, or why it refuses. */
export function unlessRefused<T>(scan: () => T): T | WireError {
  try {
    return scan();
  } catch (error) {
    if (error instanceof WireError) return error;
    throw error;
  }
}
