// Several patterns. Most of them name one server, so only those that can concern the server in question are
// looked at: a long list costs no more than a short one.

import { Pattern } from './pattern.ts';
import type { ToolAliases } from './tool-aliases.ts';

export class PatternList {
  /** By the server that they name; at most one entry for each pattern. */
  readonly #byServer = new Map<string, Pattern[]>();
  /** Those that can match at several servers. */
  readonly #others: readonly Pattern[];
  readonly isEmpty: boolean;

  constructor(texts: readonly string[], aliases: ToolAliases) {
    const patterns = texts.map((text) => new Pattern(text, aliases));
    this.isEmpty = patterns.length === 0;
    this.#others = patterns.filter(({ onlyServer }) => onlyServer === undefined);
    for (const pattern of patterns) {
      const { onlyServer } = pattern;
      if (onlyServer === undefined) continue;
      const known = this.#byServer.get(onlyServer);
      if (known) known.push(pattern);
      else this.#byServer.set(onlyServer, [pattern]);
    }
  }

  /** The first of those that can match something of this server for which this is so. */
  find(server: string, isSo: (pattern: Pattern) => boolean): Pattern | undefined {
    return this.#byServer.get(server)?.find(isSo) ?? this.#others.find(isSo);
  }
}
