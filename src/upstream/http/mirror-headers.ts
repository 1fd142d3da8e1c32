// The headers that repeat the arguments of a call to a modern remote server (`Mcp-Param-*`), as the
// tool's schema requires (wire/mirrored-headers.ts).

import { isRecord } from '../../kernel/json-values.ts';
import { ownValue } from '../../kernel/own-value.ts';
import { headerValue, marksIn } from '../../wire/mirrored-headers.ts';

/** The `Mcp-Param-*` headers for these arguments; undefined if there are none. */
export function paramHeaders(
  inputSchema: unknown,
  args: unknown,
): Readonly<Record<string, string>> | undefined {
  const headers = new Map<string, string>();
  for (const { path, name } of marksIn(inputSchema)) {
    const text = scalarText(valueAt(args, path));
    if (text !== undefined) headers.set(`mcp-param-${name.toLowerCase()}`, headerValue(text));
  }
  return headers.size > 0 ? Object.fromEntries(headers) : undefined;
}

function valueAt(args: unknown, path: readonly string[]): unknown {
  let value = args;
  for (const key of path) value = isRecord(value) ? ownValue(value, key) : undefined;
  return value;
}

function scalarText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  // An integer beyond 2^53 has lost its digits by now: a header that differs from the body is worse
  // than none.
  return typeof value === 'boolean' || Number.isSafeInteger(value) ? String(value) : undefined;
}
