// The answers of search_tools and describe_tool, as MCP tool results for a model. Each found tool
// is one line with its name and first sentence, which is enough to choose. A described tool is its
// definition as its server wrote it, byte for byte, under its name here; members that only a user
// interface needs (icons, _meta) are omitted to save context.

import type { SearchHit, SearchOutcome } from '../catalog/search.ts';
import { printableLine } from '../kernel/printable.ts';
import { objectAt } from '../wire/parts.ts';
import type { Span } from '../wire/span.ts';
import { quoted } from './line-words.ts';
import { maxLimit, type SearchQuestion } from './search-surface.ts';
import { textResult } from './tool-result.ts';

export interface Unsearched {
  readonly server: string;
  /** One word or two: a fault code, a state. */
  readonly why: string;
}

/** The name is the one that the caller uses for the tool. Unsearched servers have no known list. */
export function searchResult(
  question: SearchQuestion,
  outcome: SearchOutcome,
  nameOf: (hit: SearchHit) => string,
  unsearched: readonly Unsearched[] = [],
): string {
  const lines = outcomeLines(question, outcome, nameOf);
  if (unsearched.length > 0) {
    const servers = unsearched.map(({ server, why }) => `${server} (${why})`).join(', ');
    lines.push(`Not searched, because their tools are not known now: ${servers}.`);
  }
  return textResult(lines.join('\n'));
}

function outcomeLines(
  { query, limit, server }: SearchQuestion,
  outcome: SearchOutcome,
  nameOf: (hit: SearchHit) => string,
): string[] {
  const where = server === undefined ? '' : ` of the server ${quoted(server)}`;
  const wider = server === undefined ? '' : ', or leave out "server"';
  switch (outcome.kind) {
    case 'found': {
      const rest = outcome.total - outcome.hits.length;
      const advice = limit < maxLimit ? 'use other words or a higher limit' : 'use other words';
      const more = `${rest} more ${rest === 1 ? 'tool matches' : 'tools match'}; ${advice}.`;
      const lines = outcome.hits.map((hit) => hitLine(nameOf(hit), hit));
      return rest > 0 ? [...lines, more] : lines;
    }
    case 'no_match':
      return [
        `No tool${where} matches ${quoted(query)}. Try other words for what it should do${wider}.`,
      ];
    case 'empty_query':
      return ['The query has no words. Say what the tool should do, for example "read file".'];
    case 'empty_corpus':
      return server === undefined
        ? [
            'No tools are available now: ask the user to look at the servers with `holdfast status`.',
          ]
        : [`There are no tools${where}. Leave out "server" to search all.`];
  }
}

function hitLine(name: string, { title, description }: SearchHit): string {
  const words = firstSentence(printableLine(description)) || printableLine(title ?? '');
  return words === '' ? printableLine(name) : `${printableLine(name)}: ${words}`;
}

/**
 * Up to a full stop that ends a sentence: not the one in "e.g. this", in "v1.2" or in "U.S. law".
 */
const sentence = /^.{16,}?(?:[.!?](?=\s+[^\s\p{Ll}])|[。！？])/u;

function firstSentence(line: string): string {
  return sentence.exec(line)?.[0] ?? line;
}

// --- one tool ------------------------------------------------------------------------------

const described = ['title', 'description', 'inputSchema', 'outputSchema', 'annotations'] as const;

/** The definition is an object in bytes that were scanned, of a tool that the catalogue took in. */
export function describedTool(bytes: Buffer, definition: Span, name: string): string {
  const members = [`"name":${JSON.stringify(name)}`];
  const object = objectAt(bytes, definition);
  for (const key of described) {
    const span = object?.get(key);
    if (span !== undefined) {
      members.push(`"${key}":${bytes.toString('utf8', span.start, span.end)}`);
    }
  }
  return textResult(`{${members.join(',')}}`);
}
