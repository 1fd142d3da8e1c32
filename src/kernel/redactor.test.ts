import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Fault } from './fault.ts';
import { Redactor } from './redactor.ts';

const key = { name: 'env API_KEY', value: 'sk-abc.(123)+$' };

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
