import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { scanMessage } from '../wire/scan.ts';
import type { Span } from '../wire/span.ts';
import { collectUris, rewriteUris, uriEdits } from './uri-rewriting.ts';

/** A result as the scanner hands it over, and the same as a place in bytes without its members. */
function framed(result: string): { readonly bytes: Buffer; readonly spans: readonly Span[] } {
  const bytes = Buffer.from(`{"jsonrpc":"2.0","id":1,"result":${result}}`);
  const { result: span } = scanMessage(bytes);
  if (span === undefined) throw new Error('no result');
  return { bytes, spans: [span, { start: span.start, end: span.end }] };
}

function collected(result: string): string[] {
  const { bytes, spans } = framed(result);
  const [known, plain] = spans.map((span) => collectUris(bytes, span));
  expect(plain).toEqual(known);
  return known ?? [];
}

function rewritten(result: string, replace: (uri: string) => string | undefined): string {
  const { bytes, spans } = framed(result);
  const [known, plain] = spans.map((span) => rewriteUris(bytes, span, replace).toString());
  expect(plain).toBe(known);
  return (known ?? '').slice('{"jsonrpc":"2.0","id":1,"result":'.length, -1);
}

describe('the URIs in a result', () => {
  it.each([
    ['a link', '{"content":[{"type":"resource_link","uri":"x:1","name":"n"}]}'],
    ['an embedded resource', '{"content":[{"type":"resource","resource":{"uri":"x:1"}}]}'],
    ['what was read', '{"contents":[{"uri":"x:1","text":"t"}],"ttlMs":0}'],
    ['a prompt', '{"messages":[{"role":"user","content":{"resource":{"uri":"x:1"}}}]}'],
    ['a page', '{"content":[],"_meta":{"ui":{"resourceUri":"x:1"}}}'],
    ['a page, as it was', '{"_meta":{"ui/resourceUri":"x:1"}}'],
    ['a page, as PHP writes it', '{"_meta":{"ui\\/resourceUri":"x:1"}}'],
    ['a tool with a page', '{"tools":[{"name":"t","_meta":{"ui":{"resourceUri":"x:1"}}}]}'],
    ['a task', '{"result":{"content":[{"uri":"x:1"}]}}'],
    ['a question', '{"inputRequests":{"k":{"params":{"messages":[{"content":{"uri":"x:1"}}]}}}}'],
    ['a notification', '{"uri":"x:1"}'],
    ['another spelling', '{"content":[{"uri":"\\u0078:1"}]}'],
    ['wide spacing', '{ "content" : [ { "a" : 1 , "uri" : "x:1" } ] }'],
  ])('are found in %s', (_, result) => {
    expect(collected(result)).toEqual(['x:1']);
    expect(rewritten(result, (uri) => `h:${uri}`)).toBe(
      result.replace(/"(x|\\u0078):1"/, '"h:x:1"'),
    );
  });

  it.each([
    ['structured content', '{"structuredContent":{"uri":"x:1"},"content":[]}'],
    ['structured content below', '{"content":[{"structuredContent":{"uri":"x:1"},"uri":2}]}'],
    ['arguments', '{"messages":[{"content":{"arguments":{"uri":"x:1"}}}]}'],
    ['the input of a tool', '{"content":[{"type":"tool_use","input":{"uri":"x:1"}}]}'],
    ['a schema', '{"tools":[{"inputSchema":{"examples":[{"uri":"x:1"}]}}]}'],
    ['a text', '{"content":[{"type":"text","text":"{\\"uri\\":\\"x:1\\"}"}]}'],
    ['a text that is a key', '{"content":["uri","x:1"]}'],
    ['a member that we do not know', '{"custom":{"uri":"x:1"},"content":[]}'],
    ['a value that is no string', '{"contents":[{"uri":1},{"uri":null},{"uri":["x:1"]}]}'],
    ['a key in disguise', '{"content":[{"\\u0075ri":"x:1"}]}'],
    ['a longer key', '{"content":[{"my_uri":"x:1","uris":"x:1","baseUri":"x:1"}]}'],
    ['nothing', '{}'],
    ['no object', '"uri"'],
  ])('are not found in %s', (_, result) => {
    expect(collected(result)).toEqual([]);
    expect(rewritten(result, () => 'other')).toBe(result);
  });

  it('are listed once each, and are all replaced, also under a duplicate key', () => {
    const result = '{"content":[{"uri":"x:1","uri":"x:2"},{"uri":"x:1"}]}';
    expect(collected(result)).toEqual(['x:1', 'x:2']);
    expect(rewritten(result, (uri) => (uri === 'x:1' ? 'y' : undefined))).toBe(
      '{"content":[{"uri":"y","uri":"x:2"},{"uri":"y"}]}',
    );
  });

  it('may become any text', () => {
    const odd = '"\\\ud800\u2028\u{1f600}';
    const changed = rewritten('{"contents":[{"uri":"x:1"}]}', () => odd);
    expect(JSON.parse(changed)).toEqual({ contents: [{ uri: odd }] });
  });

  it('return the same buffer if none is replaced', () => {
    const { bytes, spans } = framed('{"contents":[{"uri":"x:1"}]}');
    for (const span of spans) {
      expect(rewriteUris(bytes, span, () => undefined)).toBe(bytes);
      expect(rewriteUris(bytes, span, (uri) => uri)).toBe(bytes);
      expect(uriEdits(bytes, span, () => 'y')).toHaveLength(1);
    }
  });

  it.each([
    ['prose', 'The curious author is unsure. '],
    ['JSON', '{"a":"b","my_uri":"c"},'],
  ])('are found behind any amount of %s', (_, text) => {
    const long = JSON.stringify(text.repeat(2_000));
    expect(collected(`{"content":[{"text":${long}},{"uri":"x:1"}]}`)).toEqual(['x:1']);
    expect(collected(`{"content":[{"text":${long}}]}`)).toEqual([]);
  });

  it('are found at the deepest place that a frame may have', () => {
    const deep = `${'['.repeat(508)}{"uri":"x:1"}${']'.repeat(508)}`;
    expect(collected(`{"content":${deep}}`)).toEqual(['x:1']);
  });
});

const keys = [
  'uri',
  'resourceUri',
  'ui/resourceUri',
  'content',
  'contents',
  '_meta',
  'result',
  'structuredContent',
  'arguments',
  'inputSchema',
  'x',
  'uri"',
];
const carriers = new Set(['content', 'contents', '_meta', 'result']);
const opaque = new Set(['structuredContent', 'arguments', 'inputSchema']);
const uriKeys = new Set(['uri', 'resourceUri', 'ui/resourceUri']);

/** The rule said again, over parsed values. */
function mapped(value: unknown, replace: (uri: string) => string, isResult: boolean): unknown {
  if (Array.isArray(value)) return value.map((one) => mapped(one, replace, false));
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([key, member]) => {
    if (typeof member === 'string') return [key, uriKeys.has(key) ? replace(member) : member];
    const isEntered = isResult ? carriers.has(key) : !opaque.has(key);
    return [key, isEntered ? mapped(member, replace, false) : member];
  });
  return Object.fromEntries(members);
}

const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
  tree: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.oneof(fc.string({ unit: 'binary', maxLength: 6 }), fc.constantFrom('"uri"', 'x:1', 1, null)),
    fc.array(tie('tree'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...keys), tie('tree'), { maxKeys: 4 }),
  ),
}));
const anyResult = fc.dictionary(fc.constantFrom(...keys), tree, { maxKeys: 5 });
const spacing = fc.constantFrom('', ' ', '\t');

describe('any result', () => {
  it('has the URIs that the rule says', () => {
    const property = fc.property(anyResult, spacing, (result, space) => {
      const expected: string[] = [];
      const note = (uri: string) => {
        expected.push(uri);
        return uri;
      };
      mapped(result, note, true);
      expect(collected(JSON.stringify(result, null, space))).toEqual([...new Set(expected)]);
    });
    fc.assert(property, { numRuns: 500 });
  });

  it('is changed there and nowhere else', () => {
    const property = fc.property(anyResult, spacing, (result, space) => {
      const text = JSON.stringify(result, null, space);
      const there = rewritten(text, (uri) => `holdfast:b:${uri}`);
      expect(JSON.parse(there)).toEqual(mapped(result, (uri) => `holdfast:b:${uri}`, true));
      expect(rewritten(there, (uri) => uri.slice('holdfast:b:'.length))).toBe(text);
    });
    fc.assert(property, { numRuns: 500 });
  });
});
