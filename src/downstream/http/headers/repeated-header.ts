// Finds repeated headers that make a head ambiguous: Node uses the first of two Host, Content-Type
// or Authorization headers, and a proxy in front of us may have used the other. Most other headers
// are joined when they are repeated, and are then invalid.

const single: ReadonlySet<string> = new Set(['host', 'content-type', 'authorization']);

/** The name of such a header that occurs twice; `raw` is names and values in turn. */
export function repeatedHeader(raw: readonly string[]): string | undefined {
  let seen = '';
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index] as string;
    // Told by their length first: most names need not be looked at.
    if (name.length !== 4 && name.length !== 12 && name.length !== 13) continue;
    const lower = name.toLowerCase();
    if (!single.has(lower)) continue;
    if (seen.includes(lower)) return name;
    seen += ` ${lower}`;
  }
  return undefined;
}
