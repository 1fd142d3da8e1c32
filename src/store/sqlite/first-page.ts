// Looks at the first page of a database file before SQLite does: whose file it is, of which version, and
// whether its header and its tables are as they were written. libsql ends the whole process on some texts
// that are not UTF-8, and a damaged table definition is such a text.

import { headerOf, type WalHeader } from './wal-check.ts';

/**
 * `new`: nothing was stored in it yet, as far as this page tells. `unwritten`: its first page was never
 * written, so that SQLite cannot read it, and it has no other: the power was cut while the file was made.
 */
export type FirstPage = 'new' | 'unwritten' | 'ours' | 'foreign' | 'newer' | 'damaged';

export interface ExpectedPage {
  readonly applicationId: number;
  readonly schemaVersion: number;
  /** As SQLite keeps them: the texts of the statements that made the tables. */
  readonly statements: readonly string[];
}

const magic = 'SQLite format 3\0';
const pageBytes = 4096;

/** `wal` is the log, in which there may be a newer first page. */
export function firstPage(file: Buffer, wal: Buffer, expected: ExpectedPage): FirstPage {
  const page = latestFirstPage(wal) ?? file.subarray(0, pageBytes);
  if (page.length === 0) return 'new';
  if (file.length <= pageBytes && wal.length === 0 && isZero(file)) return 'unwritten';
  if (page.length < 100 || page.toString('latin1', 0, magic.length) !== magic) return 'damaged';
  const id = page.readUInt32BE(68);
  const version = page.readUInt32BE(60);
  if (id === 0 && version === 0) return 'new';
  if (id !== expected.applicationId) return 'foreign';
  if (version > expected.schemaVersion) return 'newer';
  const text = page.toString('latin1');
  const isWhole = hasUsualHeader(page) && expected.statements.every((one) => text.includes(one));
  return isWhole ? 'ours' : 'damaged';
}

function isZero(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0);
}

/** What never differs in a file of ours: the size of a page, fractions, formats and the encoding. */
function hasUsualHeader(page: Buffer): boolean {
  const isJournal = (byte: number | undefined) => byte === 1 || byte === 2;
  return (
    page.readUInt16BE(16) === pageBytes &&
    isJournal(page[18]) &&
    isJournal(page[19]) &&
    page.readUInt32BE(20) === 0x00_40_20_20 &&
    page.readUInt32BE(44) === 4 &&
    page.readUInt32BE(56) === 1
  );
}

/** Of the last change that is complete; undefined if the log has none. */
function latestFirstPage(wal: Buffer): Buffer | undefined {
  const header: WalHeader | undefined = headerOf(wal);
  if (header === undefined) return undefined;
  let [found, committed]: (Buffer | undefined)[] = [];
  for (const { page, isCommit, content } of header.frames()) {
    if (page === 1) found = content;
    if (isCommit) committed = found;
  }
  return committed;
}
