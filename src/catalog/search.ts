// Ranked search over tools. A ToolSearch is created for exactly the tools that its caller may call:
// the filter comes before the ranking, because in BM25 every indexed tool changes the score of the
// others, and a hidden tool must not have any effect. The index is built at the first query. Every
// outcome is a kind, so that a caller words its own hint for "nothing found".

import MiniSearch, { type SearchOptions } from 'minisearch';
import { headOf } from '../kernel/text-cut.ts';
import { wordsOf, wordsOfName } from './search-words.ts';
import type { Tool } from './tool.ts';

export interface ServedTool {
  readonly server: string;
  readonly tool: Tool;
}

/** A tool that matches the words. */
export interface SearchHit {
  /** The server that has it. */
  readonly server: string;
  /** Its name at the server. */
  readonly tool: string;
  /** Its name for people; absent: the server gives none. */
  readonly title?: string;
  /** One line, cut; empty if the tool has none. */
  readonly description: string;
  /** How well it matches: the higher, the better; comparable within one search. */
  readonly score: number;
}

/** What a search came to; `kind` tells the outcomes apart. */
export type SearchOutcome =
  | {
      /** There are tools that match. */
      readonly kind: 'found';
      /** The best first, at most as many as the limit. */
      readonly hits: readonly SearchHit[];
      /** How many match, including those beyond the limit. */
      readonly total: number;
    }
  | {
      /** There are no tools to search. */
      readonly kind: 'empty_corpus';
    }
  | {
      /** There is no word in the query. */
      readonly kind: 'empty_query';
    }
  | {
      /** No tool matches. */
      readonly kind: 'no_match';
      /** The words that were searched for. */
      readonly words: readonly string[];
    };

const defaultLimit = 10;
const maxQueryWords = 32;
const maxParameters = 256;
const maxLineLength = 160;

export class ToolSearch {
  readonly #tools: readonly ServedTool[];
  #index: MiniSearch<ToolText> | undefined;

  constructor(visible: readonly ServedTool[]) {
    this.#tools = visible;
  }

  search(query: string, limit: number = defaultLimit): SearchOutcome {
    if (this.#tools.length === 0) return { kind: 'empty_corpus' };
    const words = [...new Set(wordsOf(query))].slice(0, maxQueryWords);
    if (words.length === 0) return { kind: 'empty_query' };
    this.#index ??= indexOf(this.#tools);
    const ranked = this.#index
      .search(words.join(' '), searchOptions)
      .map(({ id, score }) => ({ ...this.#toolAt(id), score }))
      .sort(byRank);
    if (ranked.length === 0) return { kind: 'no_match', words };
    return { kind: 'found', hits: ranked.slice(0, limit).map(hitOf), total: ranked.length };
  }

  #toolAt(id: number): ServedTool {
    const served = this.#tools[id];
    if (served === undefined) throw new RangeError(`the search index has no tool ${id}`);
    return served;
  }
}

interface ToolText {
  readonly id: number;
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly parameters: string;
  readonly server: string;
}

function indexOf(tools: readonly ServedTool[]): MiniSearch<ToolText> {
  const index = new MiniSearch<ToolText>({
    fields: ['name', 'title', 'description', 'parameters', 'server'],
    tokenize: (text, field) => [...(field === 'name' ? wordsOfName(text) : wordsOf(text))],
    processTerm: (word) => word,
  });
  index.addAll(tools.map(textOf));
  return index;
}

function textOf({ server, tool }: ServedTool, id: number): ToolText {
  return {
    id,
    name: tool.name,
    title: tool.title ?? '',
    description: tool.description ?? '',
    parameters: parameterText(tool.inputSchema['properties']),
    server,
  };
}

function parameterText(properties: unknown): string {
  if (typeof properties !== 'object' || properties === null) return '';
  const parts: string[] = [];
  for (const [name, schema] of Object.entries(properties).slice(0, maxParameters)) {
    parts.push(name);
    const description: unknown = schema?.description;
    if (typeof description === 'string') parts.push(description);
  }
  return parts.join(' ');
}

// A name says more than a sentence about it. Prefixes and misspellings count only for words long
// enough that they do not match everywhere by chance.
const searchOptions: SearchOptions = {
  boost: { name: 4, title: 2, server: 1.5 },
  bm25: { k: 1.5, b: 0.75, d: 0.5 },
  prefix: (word) => word.length >= 3,
  fuzzy: (word) => (word.length >= 4 ? 0.2 : false),
  maxFuzzy: 2,
  weights: { prefix: 0.5, fuzzy: 0.3 },
};

interface Ranked extends ServedTool {
  readonly score: number;
}

function byRank(a: Ranked, b: Ranked): number {
  return b.score - a.score || compare(a.server, b.server) || compare(a.tool.name, b.tool.name);
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function hitOf({ server, tool, score }: Ranked): SearchHit {
  return {
    server,
    tool: tool.name,
    ...(tool.title === undefined ? {} : { title: tool.title }),
    description: oneLine(tool.description ?? ''),
    score,
  };
}

/**
 * Cut before it is cleaned up, because the text may be of any length, and never inside a character.
 */
function oneLine(text: string): string {
  const head = headOf(4 * maxLineLength, text);
  const line = head.replace(/[\s\p{Cc}]+/gu, ' ').trim();
  if (head.length === text.length && line.length <= maxLineLength) return line;
  return `${headOf(maxLineLength - 1, line)}…`;
}
