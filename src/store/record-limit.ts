// How large the file of a record can be. A larger file was not written by us: it is not read, and
// counts as damaged. A larger record is not written either, so that no start takes our own record
// for damaged.

/**
 * Detected eras, start history and tokens are a few hundred bytes; the longest name in one is a
 * token's.
 */
const smallBytes = 65_536;

/**
 * Everything that one server lists, for up to eight classes of clients, or all names that are given. The
 * 509 tools of 44 real servers are 0.6 MB. A file of this size costs a start about a second.
 */
const largeBytes = 67_108_864;

const small: ReadonlySet<string> = new Set(['verdicts', 'starts', 'tokens', 'credentials']);

export function maxRecordBytes(collection: string): number {
  return small.has(collection) ? smallBytes : largeBytes;
}
