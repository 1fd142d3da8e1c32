// The one way to read a system error: by its code.

/** The code of a system error, such as ENOSPC; undefined for anything else. */
export function errnoOf(error: unknown): string | undefined {
  const isSystemError = error instanceof Error && 'errno' in error && 'code' in error;
  return isSystemError ? String(error.code) : undefined;
}
