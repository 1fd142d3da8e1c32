// Addresses that a server may read as another one than a pattern sees: with `.` and `..` in their path, with
// escapes that are needless or no text, with control characters or spaces around them, with a user in front of
// the host, or in any other form that a parser of URLs writes in another way (`file:/a`, capital letters in a
// host, default ports). A role that allows or denies by address cannot decide about them. What differs only in
// escapes, slashes, query or case is not ambiguous: address-readings.ts compares all of these.

import { decoded } from './decoded.ts';

/** `%41` for A, `%2e` for a dot, `%2f` and `%5c` for slashes, control characters, and an escape of an escape. */
const needlessEscape =
  /%(?:[01][0-9a-f]|2[def]|3[0-9]|4[1-9a-f]|5[0-9acf]|6[1-9a-f]|7[0-9aef]|25[0-9a-f]{2})/i;
/** `..;` is `..` for some servers. */
const dotSegment = /(?:^|[/\\:])\.{1,2}(?:[/\\?#;]|$)/;
const scheme = /^[^:/?#]*:/;
/** Control characters, line ends and halves of characters. */
const unprintable = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u;
/** `user@`, and the dot that ends a full name of a host. */
const oddHost = /^[^:/?#]*:\/\/[^/?#]*(?:@|\.(?::\d*)?(?:[/?#]|$))/;

export function isAmbiguousAddress(address: string): boolean {
  const [start = ''] = scheme.exec(address) ?? [];
  // Some servers take look-alikes of dots and slashes for these.
  const plain = address.normalize('NFKC');
  return (
    /[A-Z]/.test(start) ||
    unprintable.test(address) ||
    address !== address.trim() ||
    plain.includes('\\') ||
    [address, plain].some((text) => dotSegment.test(text) || needlessEscape.test(text)) ||
    oddHost.test(address) ||
    isWrittenOtherwise(address, start)
  );
}

/** Schemes of which parsers know more than that they are schemes. */
const special: ReadonlySet<string> = new Set(['file:', 'ftp:', 'http:', 'https:', 'ws:', 'wss:']);
/** Of a template: stands for text that is not there yet. */
const expression = /\{[+#./;?&]?[\w.,:*]+\}/g;

/** Whether a parser of URLs makes something else of it than the same text with more escapes. */
function isWrittenOtherwise(address: string, start: string): boolean {
  const text = address.replace(expression, 'x');
  const same = decoded(text);
  if (same === undefined) return true;
  if (!URL.canParse(text)) return special.has(start);
  const { href, pathname } = new URL(text);
  return decoded(href) !== same && !(pathname === '/' && href === `${text}/`);
}
