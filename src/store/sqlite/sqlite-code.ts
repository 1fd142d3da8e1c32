// What SQLite says when it refuses: its result code, which the two drivers give in different forms, and
// its words.

/** The primary result codes that are told apart. */
const names: ReadonlyMap<number, string> = new Map([
  [5, 'SQLITE_BUSY'],
  [7, 'SQLITE_NOMEM'],
  [8, 'SQLITE_READONLY'],
  [10, 'SQLITE_IOERR'],
  [11, 'SQLITE_CORRUPT'],
  [13, 'SQLITE_FULL'],
  [14, 'SQLITE_CANTOPEN'],
  [26, 'SQLITE_NOTADB'],
]);

/** The name of the code; null if it is not an error of SQLite. */
export function sqliteCodeOf(error: unknown): string | null {
  const { code, errcode, rawCode } = (error ?? {}) as Readonly<Record<string, unknown>>;
  const number = typeof errcode === 'number' ? errcode : rawCode;
  // The low byte is the primary code, the rest says more about it.
  if (typeof number === 'number') return names.get(number & 0xff) ?? `SQLITE_${number}`;
  if (typeof code !== 'string' || !code.startsWith('SQLITE_')) return null;
  return [...names.values()].find((name) => code.startsWith(name)) ?? code;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
