// Why a database file cannot be used. Whoever gets this error keeps the data in memory instead.

/** `code` is that of SQLite or the system. */
export class OpenError extends Error {
  readonly kind: 'newer' | 'foreign' | 'unsafe' | 'unusable';
  readonly code: string | null;

  constructor(kind: OpenError['kind'], message: string, code: string | null = null) {
    super(message);
    this.kind = kind;
    this.code = code;
  }
}
