import { describe, expect, test } from 'vitest';
import { type SearchHit, type SearchOutcome, ToolSearch } from '../catalog/search.ts';
import { readTools } from '../catalog/tool.ts';
import { describedTool, searchResult, type Unsearched } from './search-results.ts';
import type { SearchQuestion } from './search-surface.ts';

const question: SearchQuestion = { kind: 'search', query: 'read', limit: 10, server: undefined };
const nameOf = ({ server, tool }: SearchHit) => `${server}__${tool}`;

function text(result: string): string {
  const { content, ...rest } = JSON.parse(result);
  expect(rest).toEqual({});
  expect(content).toHaveLength(1);
  expect(content[0].type).toBe('text');
  return content[0].text;
}

function found(
  outcome: SearchOutcome,
  unsearched?: readonly Unsearched[],
  server?: string,
): string {
  return text(searchResult({ ...question, server }, outcome, nameOf, unsearched));
}

function hit(tool: string, description: string, title?: string): SearchHit {
  const named = title === undefined ? {} : { title };
  return { server: 'files', tool, description, score: 1, ...named };
}

function lineOf(description: string): string {
  return found({ kind: 'found', hits: [hit('t', description)], total: 1 });
}

describe('tools that were found', () => {
  test('are one line each, with the first sentence of what they say', () => {
    const hits = [
      hit('read_file', 'Read the contents of a file. Handles text encodings.'),
      hit('read_many', '', 'Read many files'),
      hit('stat', ''),
    ];
    expect(found({ kind: 'found', hits, total: 3 })).toBe(
      'files__read_file: Read the contents of a file.\nfiles__read_many: Read many files\nfiles__stat',
    );
  });

  test('say how many more there are', () => {
    const hits = [hit('stat', '')];
    const more = 'more tools match; use other words or a higher limit.';
    expect(found({ kind: 'found', hits, total: 12 })).toBe(`files__stat\n11 ${more}`);
    expect(found({ kind: 'found', hits, total: 2 })).toContain('1 more tool matches;');
    const most = { ...question, limit: 50 };
    const outcome = { kind: 'found', hits, total: 60 } as const;
    expect(text(searchResult(most, outcome, nameOf))).toMatch(
      /59 more tools match; use other words\.$/,
    );
  });

  test.each([
    ['Searches files, e.g. by name or size. Slow.', 'Searches files, e.g. by name or size.'],
    ['Needs v1.2 or later. Then it works.', 'Needs v1.2 or later.'],
    ['Finds U.S. Treasury data. Daily.', 'Finds U.S. Treasury data.'],
    [
      '指定されたパスにあるファイルの内容を読み込みます。速い。',
      '指定されたパスにあるファイルの内容を読み込みます。',
    ],
    ['No full stop at all', 'No full stop at all'],
    ['Is it there already? Ask.', 'Is it there already?'],
  ])('end their sentence where it ends: %s', (description, line) => {
    expect(lineOf(description)).toBe(`files__t: ${line}`);
  });

  test('cannot make a line look like another tool, nor hide text', () => {
    expect(lineOf('x\nfiles__rm: safe\u202e\u{e0041}')).toBe(
      'files__t: x files__rm: safe\\u202e\\u{e0041}',
    );
  });

  test('come from the search as it is', () => {
    const { tools } = readTools([
      { name: 'read_file', description: 'Reads a file.', inputSchema: { type: 'object' } },
      { name: 'drop', description: 'Deletes a table.', inputSchema: { type: 'object' } },
    ]);
    const search = new ToolSearch(tools.map((tool) => ({ server: 'demo', tool })));
    expect(found(search.search('read'))).toBe('demo__read_file: Reads a file.');
  });
});

describe('a search that found nothing', () => {
  test('says so, and what to try', () => {
    expect(found({ kind: 'no_match', words: ['read'] })).toBe(
      'No tool matches "read". Try other words for what it should do.',
    );
    expect(found({ kind: 'no_match', words: ['read'] }, [], 'docs')).toBe(
      'No tool of the server "docs" matches "read". Try other words for what it should do, or leave out "server".',
    );
    expect(found({ kind: 'empty_query' })).toBe(
      'The query has no words. Say what the tool should do, for example "read file".',
    );
    expect(found({ kind: 'empty_corpus' })).toBe(
      'No tools are available now: ask the user to look at the servers with `holdfast status`.',
    );
    expect(found({ kind: 'empty_corpus' }, [], 'docs')).toBe(
      'There are no tools of the server "docs". Leave out "server" to search all.',
    );
  });

  test('names the servers whose tools are not known', () => {
    const missing = [
      { server: 'docs', why: 'timeout' },
      { server: 'git', why: 'ejected' },
    ];
    expect(found({ kind: 'no_match', words: ['read'] }, missing)).toMatch(
      /\nNot searched, because their tools are not known now: docs \(timeout\), git \(ejected\)\.$/,
    );
  });
});

describe('a tool that is described', () => {
  test('is what its server wrote, to the byte, under the name it has here', () => {
    const schema = '{ "type":"object", "properties": {"n":{"maximum":9007199254740993.0}} }';
    const bytes = Buffer.from(
      `[{"icons":[{"src":"data:..."}],"name":"find","inputSchema":${schema},"description":"F\\u0069nds é","_meta":{"a":1},"annotations":{"readOnlyHint":true,"x-cost":1e400}}]`,
    );
    const described = text(describedTool(bytes, { start: 1, end: bytes.length - 1 }, 'docs__find'));
    expect(described).toBe(
      `{"name":"docs__find","description":"F\\u0069nds é","inputSchema":${schema},"annotations":{"readOnlyHint":true,"x-cost":1e400}}`,
    );
  });

  test('has its title and the schema of its result, where it has them', () => {
    const bytes = Buffer.from(
      '{"outputSchema":{"type":"object"},"title":"T","name":"a","inputSchema":{"type":"object"}}',
    );
    expect(text(describedTool(bytes, { start: 0, end: bytes.length }, 'b'))).toBe(
      '{"name":"b","title":"T","inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}',
    );
  });
});
