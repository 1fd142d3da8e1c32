import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { looksRewritten, readRewritten, rewrittenUri, serverMark } from './rewritten-uri.ts';

describe('a rewritten URI', () => {
  it.each([
    ['file:///a/../b?c#d', 'holdfast:my_git:file:///a/../b?c#d'],
    ['https://example.com/', 'holdfast:my_git:https://example.com/'],
    ['urn:x:y', 'holdfast:my_git:urn:x:y'],
    ['ui://host/page', 'ui://holdfast+my_git/host/page'],
    ['ui://host', 'ui://holdfast+my_git/host'],
    ['ui:///page?x', 'ui://holdfast+my_git//page?x'],
    ['ui://', 'ui://holdfast+my_git/'],
    ['db://users/{id}', 'holdfast:my_git:db://users/{id}'],
    ['ui://{+rest}', 'ui://holdfast+my_git/{+rest}'],
    ['holdfast:b:x:y', 'holdfast:my_git:holdfast:b:x:y'],
    ['ui://holdfast+b/x', 'ui://holdfast+my_git/holdfast+b/x'],
  ])('of %s is %s', (uri, expected) => {
    expect(rewrittenUri('my_git', uri)).toBe(expected);
    expect(readRewritten(expected)).toEqual({ mark: 'my_git', uri });
  });

  it.each(['file:///x', 'ui://host/holdfast+b', 'holdfast', 'Holdfast:b:x', ''])(
    'is not %j',
    (uri) => {
      expect(looksRewritten(uri)).toBe(false);
      expect(readRewritten(uri)).toBeUndefined();
    },
  );

  it.each(['holdfast:', 'holdfast:b', 'ui://holdfast+', 'ui://holdfast+b'])(
    'cannot be read out of %j',
    (uri) => {
      expect(looksRewritten(uri)).toBe(true);
      expect(readRewritten(uri)).toBeUndefined();
    },
  );

  it('is a URI that parsers leave as it is, and is read back whatever it was made of', () => {
    const server = fc.oneof(fc.constantFrom('a', 'my_git', 'A.b-c'), fc.string());
    const uri = fc.oneof(
      fc.webUrl({ withQueryParameters: true, withFragments: true }),
      fc.webUrl().map((url) => url.replace('http', 'ui').replace('uis:', 'ui:')),
      fc.string({ unit: 'binary' }),
    );
    const property = fc.property(server, uri, (name, original) => {
      const mark = serverMark(name);
      const once = rewrittenUri(mark, original);
      expect(readRewritten(once)).toEqual({ mark, uri: original });
      expect(readRewritten(rewrittenUri('b', once))).toEqual({ mark: 'b', uri: once });
      expect(once.startsWith('ui://')).toBe(original.startsWith('ui://'));
      if (/^[!-~]+$/.test(original) && original.startsWith('http')) {
        expect(new URL(once).href).toBe(once);
      }
    });
    fc.assert(property, { numRuns: 500 });
  });
});
