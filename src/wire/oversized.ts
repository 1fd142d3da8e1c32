// Finds the request that a too long line answers, so that the call fails at once and not at its
// deadline. Only the beginning and the end of such a line are available. The beginning shows
// whether it is a response at all, and often its id; many servers (the official TypeScript SDK
// among them) write the result first and the id last, so the end is examined too. If neither gives
// the id for certain, the result is undefined.

import { type Id, idOf } from './decode.ts';
import { defaultMaxDepth, skipColon, skipSpace, skipValue } from './grammar.ts';
import { spells } from './span.ts';
import { skipString } from './strings.ts';
import { WireError } from './wire-error.ts';

const quote = 0x22;
const comma = 0x2c;
const openBrace = 0x7b;

/** The id of the response that begins with `head` and, once it has ended, ends with `tail`. */
export function oversizedResponseId(head: Buffer, tail?: Buffer): Id | undefined {
  const found = new HeadReading(head);
  if (!found.isResponse) return undefined;
  return found.id ?? (tail === undefined ? undefined : idInTail(tail));
}

class HeadReading {
  isResponse = false;
  id: Id | undefined;

  constructor(head: Buffer) {
    try {
      this.#read(head);
    } catch (error) {
      // The head is cut somewhere; what was read before the cut is valid.
      if (!(error instanceof WireError)) throw error;
    }
  }

  #read(head: Buffer): void {
    let at = skipSpace(head, 0);
    if (head[at] !== openBrace) return;
    do {
      at = skipSpace(head, at + 1);
      if (head[at] !== quote) return;
      const keyStart = at + 1;
      const keyEnd = skipString(head, keyStart) - 1;
      const start = skipColon(head, keyEnd + 1);
      if (spells(head, keyStart, keyEnd, 'result') || spells(head, keyStart, keyEnd, 'error')) {
        this.isResponse = true;
      }
      const end = skipValue(head, start, 1, defaultMaxDepth);
      // A number at the cut may continue behind it.
      if (spells(head, keyStart, keyEnd, 'id') && end < head.length) {
        this.id = idOf(head, { start, end });
      }
      at = skipSpace(head, end);
    } while (head[at] === comma);
  }
}

/**
 * The id as the last member of the message, or as the last but `jsonrpc`. Reading from the end is
 * unambiguous: the last brace closes the message, and the quotes are not escaped.
 */
const idLast =
  /[,{]\s*"id"\s*:\s*(-?\d{1,16}|"[^"\\]*")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/;

function idInTail(tail: Buffer): Id | undefined {
  const token = idLast.exec(tail.toString('utf8'))?.[1];
  if (token === undefined) return undefined;
  const bytes = Buffer.from(token);
  return idOf(bytes, { start: 0, end: bytes.length });
}
