import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Fault } from './fault.ts';
import { Redactor } from './redactor.ts';

const key = { name: 'env API_KEY', value: 'sk-abc.(123)+$' };

/** No beginning that is its own end, and nothing that another escape would read differently. */
const secretText = fc
  .string({ unit: 'grapheme', minLength: 6 })
  .filter((value) => value.trim() === value && !/[\n\u0000-\u001f]/.test(value))
  .map((value) => `<${value}>`);

const hex = (code: number, digits: number) => code.toString(16).padStart(digits, '0');
const base64Of = (value: string) => Buffer.from(value).toString('base64url');
const inJson = (value: string) => JSON.stringify(value).slice(1, -1);
const units = (value: string) => value.split('').map((unit) => unit.charCodeAt(0));

const escapes: Readonly<Record<string, (value: string) => string>> = {
  'in JSON': inJson,
  'in JSON inside of JSON': (value) => inJson(inJson(value)),
  'in JSON with \\/': (value) => inJson(value).replaceAll('/', '\\/'),
  'in JSON with \\u': (value) =>
    units(value)
      .map((code) => `\\u${hex(code, 4)}`)
      .join(''),
  'in JSON with \\u, upper case': (value) =>
    units(value)
      .map((code) => `\\u${hex(code, 4).toUpperCase()}`)
      .join(''),
  'as a part of an address': encodeURIComponent,
  'as an address': encodeURI,
  'in an address, lower case': (value) =>
    encodeURIComponent(value).replace(/%../g, (code) => code.toLowerCase()),
  'with each byte escaped': (value) =>
    [...Buffer.from(value)].map((byte) => `%${hex(byte, 2)}`).join(''),
  'in a form': (value) => new URLSearchParams({ '': value }).toString().slice(1),
  'in an address in JSON': (value) => inJson(encodeURIComponent(value)).replaceAll('/', '\\/'),
};

describe('a known secret in a text', () => {
  it('is replaced by its name, as often as it occurs #stderr-guarded', () => {
    const redactor = new Redactor([key]);
    expect(redactor.text(`a ${key.value}${key.value} b`)).toBe('a [env API_KEY][env API_KEY] b');
    expect(redactor.text('nothing here')).toBe('nothing here');
  });

  it('is found in the forms that programs print', () => {
    const pem = 'line one of it\nline two of it\n';
    const redactor = new Redactor([
      { name: 'env PEM', value: pem },
      { name: 'env ODD', value: 'with "quotes" & more' },
    ]);
    expect(redactor.text('> line two of it <')).toBe('> [env PEM] <');
    expect(redactor.text(JSON.stringify({ odd: 'with "quotes" & more' }))).toBe(
      '{"odd":"[env ODD]"}',
    );
    expect(redactor.text(`?q=${encodeURIComponent('with "quotes" & more')}`)).toBe('?q=[env ODD]');
  });

  it('is found in Base64, wherever it begins in a longer text, with and without padding #stderr-guarded', () => {
    fc.assert(
      fc.property(secretText, fc.string(), fc.string(), (value, before, after) => {
        const redactor = new Redactor([{ name: 'env X', value }]);
        const bytes = Buffer.from(`${before}${value}${after}`);
        const base64 = bytes.toString('base64');
        for (const text of [base64, base64.replace(/=+$/, ''), bytes.toString('base64url')]) {
          const shown = redactor.text(`(${text})`);
          expect(shown).toContain('[env X]');
          // What is left on both sides are whole characters of the neighbours, at most.
          const [left = '', right = ''] = shown.slice(1, -1).split(/(?:\[env X\])+/);
          expect(left.length).toBeLessThanOrEqual(Math.ceil((Buffer.byteLength(before) * 8) / 6));
          expect(right.length).toBeLessThanOrEqual(
            Math.ceil((Buffer.byteLength(after) * 8) / 6) + 2,
          );
        }
      }),
    );
  });

  it.each(Object.entries(escapes))('is found %s #stderr-guarded', (_, escaped) => {
    fc.assert(
      fc.property(secretText, (value) => {
        const redactor = new Redactor([{ name: 'env X', value }]);
        expect(redactor.text(`before ${escaped(value)} after`)).toBe('before [env X] after');
      }),
    );
    const awkward = 'a/b"c\\d+e f%g=h?i#é€😀\ufffd';
    const redactor = new Redactor([{ name: 'env X', value: awkward }]);
    expect(redactor.text(`(${escaped(awkward)})`)).toBe('([env X])');
  });

  it('is replaced with what overlaps it: no part of either is left', () => {
    const redactor = new Redactor([
      { name: 'env A', value: 'abcdef' },
      { name: 'env B', value: 'defghi' },
    ]);
    expect(redactor.text('<abcdefghi>')).toBe('<[env A]>');
    expect(redactor.text('<abcdefdefghi>')).toBe('<[env A][env B]>');
  });

  it('is found among thousands as among few', () => {
    const texts = fc.array(fc.stringMatching(/^[ab]{6,9}$/), { minLength: 1, maxLength: 60 });
    const picks = fc.array(fc.tuple(fc.nat(), fc.stringMatching(/^[abc]{0,3}$/)));
    fc.assert(
      fc.property(texts, picks, (values, chosen) => {
        const text = chosen.map(([at, more]) => `${values[at % values.length]}${more}`).join('');
        const shown = new Redactor(values.map((value) => ({ name: '', value }))).text(text);
        const isHidden = Array.from(text, () => false);
        for (const value of values) {
          for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + 1)) {
            isHidden.fill(true, at, at + value.length);
          }
        }
        const expected = Array.from(text, (sign, at) => (isHidden[at] ? '' : sign)).join('');
        expect(shown.replaceAll('[]', '')).toBe(expected);
      }),
    );
  });

  it('is not shown in part where the text was cut, however it was escaped #stderr-guarded', () => {
    const value = 'k3y/0123"456789+abcdef';
    const redactor = new Redactor([{ name: 'env X', value }]);
    for (const escaped of [String, base64Of, ...Object.values(escapes)]) {
      const whole = escaped(value);
      for (let kept = 0; kept < whole.length; kept += 1) {
        expect(redactor.cut(`xyz ${whole.slice(0, kept)}`)).toMatch(/^xyz ?$/);
      }
      expect(redactor.cut(`xyz ${whole}!!`)).toBe('xyz [env X]!!');
    }
    expect(redactor.cut(`an hf_${'A'.repeat(30)}`)).toBe('an ');
  });

  it('is taken whole where one begins with another', () => {
    const redactor = new Redactor([
      { name: 'env SHORT', value: 'abcdef' },
      { name: 'env LONG', value: 'abcdefghij' },
    ]);
    expect(redactor.text('abcdefghij abcdef')).toBe('[env LONG] [env SHORT]');
  });

  it('is not a word of a few letters, which would only hide ordinary text', () => {
    expect(new Redactor([{ name: 'env DEBUG', value: 'true' }]).text('true story')).toBe(
      'true story',
    );
  });

  it('may be an access token of the gateway, known by its form', () => {
    const token = `hf_${'A1-_'.repeat(11)}`;
    expect(new Redactor().text(`Bearer ${token}.`)).toBe('Bearer [access token].');
  });

  it('never survives, whatever characters it is made of', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 6 }), fc.string(), fc.string(), (value, before, after) => {
        fc.pre(!'[env X]'.includes(value) && !`${before}[env X]${after}`.includes(value));
        const shown = new Redactor([{ name: 'env X', value }]).text(before + value + after);
        expect(shown).not.toContain(value);
      }),
    );
  });

  it('is replaced in a fault, but not in what a server answered to its caller', () => {
    const redactor = new Redactor([key]);
    const facts = { server: 'a', stderr: `bad ${key.value}`, retryAfterMs: 5 };
    const fault = redactor.fault(new Fault('unavailable', `cannot run ${key.value}`, facts, 'why'));
    expect(fault.record).toMatchObject({
      detail: 'cannot run [env API_KEY]',
      stderr: 'bad [env API_KEY]',
      retryAfterMs: 5,
    });
    expect(fault.cause).toBe('why');
    const own = new Fault('rpc_error', key.value, { server: 'a' });
    expect(redactor.fault(own)).toBe(own);
    const plain = new Fault('unavailable', 'gone', { server: 'a' });
    expect(redactor.fault(plain)).toBe(plain);
  });
});
