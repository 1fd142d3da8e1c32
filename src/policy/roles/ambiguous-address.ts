// Addresses that a server may read as another one than a pattern sees: with `.` and `..` in their path, with
// characters escaped that need no escape, or with a scheme in capital letters. A role that allows or denies by
// address cannot decide about them.

/** `%41` for A, `%2e` for a dot, `%2f` and `%5c` for slashes. */
const needlessEscape = /%(?:2[def]|3[0-9]|4[1-9a-f]|5[0-9acf]|6[1-9a-f]|7[0-9ae])/i;
const dotSegment = /(?:^|[/\\:])\.{1,2}(?:[/\\?#]|$)/;
const scheme = /^[^:/?#]*:/;

export function isAmbiguousAddress(address: string): boolean {
  const [start = ''] = scheme.exec(address) ?? [];
  return (
    /[A-Z]/.test(start) ||
    address.includes('\\') ||
    dotSegment.test(address) ||
    needlessEscape.test(address)
  );
}
