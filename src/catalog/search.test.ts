import { describe, expect, it } from 'vitest';
import { type SearchHit, type ServedTool, ToolSearch } from './search.ts';
import { wordsOf, wordsOfName } from './search-words.ts';
import { readTools } from './tool.ts';

interface Sketch {
  readonly title?: string;
  readonly description?: string;
  readonly properties?: Record<string, unknown>;
}

function served(server: string, name: string, sketch: Sketch = {}): ServedTool {
  const { properties = {}, ...rest } = sketch;
  const { tools } = readTools([{ name, ...rest, inputSchema: { type: 'object', properties } }]);
  const [tool] = tools;
  if (tool === undefined) throw new Error('not a tool');
  return { server, tool };
}

const corpus = [
  served('files', 'read_file', { description: 'Read the complete contents of a file.' }),
  served('files', 'writeFile', { description: 'Create a file or overwrite it.' }),
  served('git', 'git_log', { title: 'Commit log', description: 'Shows the commit history.' }),
  served('cloud', 'delete-bucket', { description: 'Removes a storage bucket.' }),
  served('cloud', 'list.regions', {
    description: 'All regions.',
    properties: { continentCode: { description: 'such as Antarctica' }, odd: null, flag: true },
  }),
];

function hits(query: string, tools: readonly ServedTool[] = corpus): readonly SearchHit[] {
  const outcome = new ToolSearch(tools).search(query);
  return outcome.kind === 'found' ? outcome.hits : [];
}

const names = (query: string, tools?: readonly ServedTool[]) =>
  hits(query, tools).map((hit) => `${hit.server}/${hit.tool}`);

describe('tool search', () => {
  it.each([
    ['a word of the name', 'bucket', 'cloud/delete-bucket'],
    ['a hump of the name', 'write', 'files/writeFile'],
    ['the name as one word', 'readfile', 'files/read_file'],
    ['the name as it is written', 'git_log', 'git/git_log'],
    ['a word of the title', 'commit', 'git/git_log'],
    ['a word of the description', 'overwrite', 'files/writeFile'],
    ['a parameter', 'continent', 'cloud/list.regions'],
    ['the description of a parameter', 'antarctica', 'cloud/list.regions'],
    ['the beginning of a word', 'histo', 'git/git_log'],
    ['a slip of the finger', 'delte bucket', 'cloud/delete-bucket'],
    ['another case', 'HISTORY', 'git/git_log'],
  ])('finds a tool by %s', (_, query, expected) => {
    expect(names(query)[0]).toBe(expected);
  });

  it('finds all tools of a server by its name', () => {
    expect(new Set(names('cloud'))).toEqual(new Set(['cloud/delete-bucket', 'cloud/list.regions']));
  });

  it('ranks a name above a mention', () => {
    const tools = [
      served('a', 'notes', { description: 'Notes; for a search use the search tool.' }),
      served('b', 'search', { description: 'Finds notes.' }),
    ];
    expect(names('search', tools)).toEqual(['b/search', 'a/notes']);
  });

  it('breaks ties by server and then by tool', () => {
    const tools = [
      served('b', 'ping_b', { description: 'same' }),
      served('a', 'ping_b', { description: 'same' }),
      served('a', 'ping_a', { description: 'same' }),
    ];
    expect(names('same', tools)).toEqual(['a/ping_a', 'a/ping_b', 'b/ping_b']);
    expect(names('same', tools.toReversed())).toEqual(names('same', tools));
  });

  it('gives scores that only the visible tools have a part in', () => {
    const hidden = served('secret', 'bucket_of_gold', { description: 'bucket bucket bucket' });
    const alone = hits('bucket', corpus);
    const together = hits('bucket', [...corpus, hidden]);
    expect(together.map((hit) => hit.score)).not.toEqual(alone.map((hit) => hit.score));
    expect(hits('bucket', [...corpus])).toEqual(alone);
  });

  it('gives the title if there is one, and one short line of description', () => {
    const long = served('x', 'talk', {
      title: 'Talk',
      description: `a\n\tb\u001b ${'😀'.repeat(300)}`,
    });
    const [hit] = hits('talk', [long]);
    expect(hit?.title).toBe('Talk');
    expect(hit?.description).toMatch(/^a b (😀)+…$/u);
    expect(hit?.description.length).toBeLessThanOrEqual(160);
    const [bare] = hits('talk', [served('x', 'talk')]);
    expect(bare).not.toHaveProperty('title');
    expect(bare?.description).toBe('');
  });

  it('gives ten hits unless told otherwise, and counts them all', () => {
    const many = Array.from({ length: 30 }, (_, index) => served('x', `copy_${index}`));
    const search = new ToolSearch(many);
    const outcome = search.search('copy');
    expect(outcome).toMatchObject({ kind: 'found', total: 30 });
    expect(outcome.kind === 'found' && outcome.hits.length).toBe(10);
    const three = search.search('copy', 3);
    expect(three.kind === 'found' && three.hits.length).toBe(3);
  });

  it('says why nothing is found', () => {
    expect(new ToolSearch([]).search('bucket')).toEqual({ kind: 'empty_corpus' });
    expect(new ToolSearch(corpus).search('')).toEqual({ kind: 'empty_query' });
    expect(new ToolSearch(corpus).search(' _-?! ')).toEqual({ kind: 'empty_query' });
    expect(new ToolSearch(corpus).search('zebraFish')).toEqual({
      kind: 'no_match',
      words: ['zebra', 'fish'],
    });
  });

  it('handles names that every object inherits, and endless text', () => {
    const tools = [
      served('x', 'constructor', { description: '__proto__ toString' }),
      served('y', 'long', { description: 'word '.repeat(200_000) }),
    ];
    expect(names('constructor', tools)).toEqual(['x/constructor']);
    expect(names('hasOwnProperty', tools)).toEqual([]);
    expect(names('word '.repeat(200_000), tools)).toEqual(['y/long']);
  });
});

describe('search words', () => {
  it.each([
    ['read_file', ['read', 'file']],
    ['listAllFiles', ['list', 'all', 'files']],
    ['parseHTTPResponse2xx', ['parse', 'http', 'response2xx']],
    ['a-b.c/d e', ['a', 'b', 'c', 'd', 'e']],
    ['Überprüfung größe', ['überprüfung', 'größe']],
    ['读取文件', ['读取文件']],
    ['', []],
  ])('of %s are %j', (text, words) => {
    expect(wordsOf(text)).toEqual(words);
  });

  it('of a name include the whole of it', () => {
    expect(wordsOfName('read_file')).toEqual(['read', 'file', 'readfile']);
    expect(wordsOfName('read')).toEqual(['read']);
  });
});
