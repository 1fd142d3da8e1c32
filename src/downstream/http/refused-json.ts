// A refusal of the scanner is an outcome here, not an accident: whoever sent the bytes is told.

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
