import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { comparable, matchesOne, overlap, templateFrom, type UriTemplate } from './uri-template.ts';

function template(text: string): UriTemplate {
  const made = templateFrom(text);
  if (made === undefined) throw new Error(`not judged: ${text}`);
  return made;
}

function fits(text: string, uri: string): boolean {
  const given = comparable(uri);
  return given !== undefined && matchesOne([template(text)], given);
}

describe('a URI and a template', () => {
  it.each([
    ['db://users/{id}', 'db://users/7'],
    ['db://users/{id}', 'db://users/'],
    ['db://users/{id}/posts', 'db://users/7/posts'],
    ['db://users/{id}{?q,n*}', 'db://users/7?q=a/b&n=1'],
    ['db://users/{id}{?q}{&r}{#s}', 'db://users/7'],
    ['file:///{+path}', 'file:///a/b/c.txt'],
    ['file://{/path*}', 'file:///a/b'],
    ['x{+dir}/{name}', 'x/a/b/c'],
    ['x:{+a}-{b}-{+c}', 'x:1/2-3-4/5'],
    ['x:{a}{b}{c}', 'x:abc'],
    ['{+uri}', 'anything:at all'],
    ['note://\u00e9/{x}', 'note://%C3%A9/1'],
    ['note://\u00e9/{x}', 'note://\u00e9/1'],
    ['note://a/{x}', 'note://a/\u8aad \u{1f600}'],
    ['a://{b', 'a://{b'],
    ['a://{b{c}}', 'a://{b1}'],
    ['a://plain', 'a://plain'],
    ['aXa', 'aXa'],
    ['{a}aba', 'ababa'],
  ])('%s gives %s', (text, uri) => {
    expect(fits(text, uri)).toBe(true);
  });

  it.each([
    ['db://users/{id}', 'db://users/7/posts'],
    ['db://users/{id}', 'db://user/7'],
    ['db://users/{id}/posts', 'db://users/7/likes'],
    ['db://users/{.ext}', 'db://users/a/b'],
    ['x{+dir}/{name}', 'x'],
    ['ab{c}ba', 'aba'],
    ['a://plain', 'a://plain2'],
    ['a://plain', 'b://plain'],
    ['', 'a'],
  ])('%s does not give %s', (text, uri) => {
    expect(fits(text, uri)).toBe(false);
  });

  it('are not compared when either is too long', () => {
    expect(templateFrom(`x:{a}${'y'.repeat(1_024)}`)).toBeUndefined();
    expect(fits('x:{+a}', `x:${'a'.repeat(5_000)}`)).toBe(false);
  });
});

// Small alphabets, so that templates and URIs meet.
const literal = fc.string({ unit: fc.constantFrom(...'ab/'), maxLength: 3 });
const expression = fc.constantFrom('{x}', '{+x}', '{/x}', '{;x}', '{?x}');
const text = fc.array(fc.oneof(literal, expression), { maxLength: 6 }).map((all) => all.join(''));
const uri = fc.string({ unit: fc.constantFrom(...'ab/'), maxLength: 7 });

describe('templates of any form', () => {
  const pattern = (written: string) =>
    new RegExp(
      `^${written.replace(/\{(.)[^}]*\}/g, (_, operator: string) =>
        operator === 'x' || operator === ';' ? '[^/]*' : '.*',
      )}$`,
    );

  it('match whatever the regular expression does that says the same', () => {
    const property = fc.property(text, uri, (written, given) => {
      if (pattern(written).test(given)) expect(fits(written, given)).toBe(true);
    });
    fc.assert(property, { numRuns: 500 });
  });

  it('match nothing else, where their expressions may become anything', () => {
    const property = fc.property(text, uri, (written, given) => {
      const free = written.replaceAll('{x}', '{+x}').replaceAll('{;x}', '{+x}');
      expect(fits(free, given)).toBe(pattern(free).test(given));
    });
    fc.assert(property, { numRuns: 500 });
  });

  it('overlap if there is a URI that matches both', () => {
    const property = fc.property(text, text, uri, (one, other, given) => {
      if (!fits(one, given) || !fits(other, given)) return;
      expect(overlap(template(one), template(other))).toBe(true);
      expect(overlap(template(other), template(one))).toBe(true);
    });
    fc.assert(property, { numRuns: 500 });
  });
});

describe('two templates', () => {
  it.each([
    ['file:///{path}', 'file:///{+path}'],
    ['db://users/{id}', 'db://users/{name}'],
    ['db://{table}/{id}', 'db://users/{id}'],
    ['{+uri}', 'db://users/{id}'],
    ['db://users/7', 'db://users/{id}'],
  ])('%s and %s can give the same URI', (one, other) => {
    expect(overlap(template(one), template(other))).toBe(true);
  });

  it.each([
    ['a://{x}', 'b://{x}'],
    ['a://{x}/p', 'a://{x}/q'],
    ['test://{x}', 'test://template/{id}/data'],
    ['db://users/{id}', 'db://users/{id}/posts'],
  ])('%s and %s cannot', (one, other) => {
    expect(overlap(template(one), template(other))).toBe(false);
  });
});
