import { describe, expect, test } from 'vitest';
import { maxMembers } from './reading.ts';
import { scanMessage } from './scan.ts';
import { WireError } from './wire-error.ts';

function refusalOf(text: string): string {
  try {
    scanMessage(Buffer.from(text));
  } catch (error) {
    if (error instanceof WireError) return error.reason;
    throw error;
  }
  return 'accepted';
}

const message = (members: string) => `{"jsonrpc":"2.0","id":1,${members}}`;
/** The six objects that are read, each holding the given members. */
const places: readonly ((members: string) => string)[] = [
  (members) => message(`"method":"m",${members}`),
  (members) => message(`"method":"m","params":{${members}}`),
  (members) => message(`"method":"m","params":{"_meta":{${members}}}`),
  (members) => message(`"result":{${members}}`),
  (members) => message(`"result":{"_meta":{${members}}}`),
  (members) => message(`"error":{${members}}`),
];

describe('one reading', () => {
  test('a key twice is refused in every object that is read', () => {
    for (const place of places) {
      expect(refusalOf(place('"x":1,"y":2'))).toBe('accepted');
      expect(refusalOf(place('"x":1,"y":2,"x":1'))).toBe('duplicate-key');
      expect(refusalOf(place('"x":1,"X":2'))).toBe('accepted');
      expect(refusalOf(place('"":1,"":2'))).toBe('duplicate-key');
    }
  });

  test('keys are compared after unescaping', () => {
    for (const place of places.slice(1)) {
      expect(refusalOf(place('"x":1,"\\u0078":2'))).toBe('duplicate-key');
      expect(refusalOf(place('"\\u0078":1,"x":2'))).toBe('duplicate-key');
      expect(refusalOf(place('"\\u0078":1,"\\u0078":2'))).toBe('duplicate-key');
      expect(refusalOf(place('"a/b":1,"a\\/b":2'))).toBe('duplicate-key');
      expect(refusalOf(place('"ü":1,"\\u00fc":2'))).toBe('duplicate-key');
      expect(refusalOf(place('"\\ud800":1,"\\ud801":2'))).toBe('accepted');
      expect(refusalOf(place('"\\u0078":1,"\\u0079":2'))).toBe('accepted');
    }
  });

  test('among many members too', () => {
    const many = (count: number) => Array.from({ length: count }, (_, i) => `"k${i}":${i}`).join();
    for (const place of places) {
      for (const count of [15, 16, 17, 18, 40]) {
        expect(refusalOf(place(many(count)))).toBe('accepted');
        expect(refusalOf(place(`${many(count)},"k0":1`))).toBe('duplicate-key');
        expect(refusalOf(place(`${many(count)},"k${count - 1}":1`))).toBe('duplicate-key');
      }
      expect(refusalOf(place(`"\\u006b3":1,${many(40)}`))).not.toBe('accepted');
      expect(refusalOf(place(`${many(40)},"\\u006b3":1`))).not.toBe('accepted');
    }
  });

  test('among long keys too', () => {
    const long = 'k'.repeat(5000);
    for (const place of places) {
      expect(refusalOf(place(`"${long}a":1,"x":1,"${long}b":2`))).toBe('accepted');
      expect(refusalOf(place(`"x":1,"${long}":1,"x":2`))).toBe('duplicate-key');
      expect(refusalOf(place(`"x":1,"${long}":1,"${long}":2`))).toBe('duplicate-key');
    }
  });

  test('on the message itself no key may be written with escapes', () => {
    expect(refusalOf('{"jsonrpc":"2.0","\\u0069d":1,"method":"m"}')).toBe('escaped-key');
    expect(refusalOf('{"jsonrpc":"2.0","method":"m","\\u0078":1}')).toBe('escaped-key');
    expect(refusalOf('{"jsonrpc":"2.0","method":"m","a\\/b":1}')).toBe('escaped-key');
  });

  test('below it, none of the keys we look up may be', () => {
    for (const place of places.slice(1)) {
      expect(refusalOf(place('"n\\u0061me":1'))).toBe('escaped-key');
      expect(refusalOf(place('"\\u005fmeta":{"x":1,"x":2}'))).toBe('escaped-key');
      expect(refusalOf(place('"holdfast/idempotency\\u004bey":1'))).toBe('escaped-key');
      expect(refusalOf(place('"na\\u006de2":1'))).toBe('accepted');
    }
  });

  test('but a slash may be, because PHP does so unasked', () => {
    const text = message(
      '"method":"m","params":{"_meta":{"io.modelcontextprotocol\\/logLevel":"x"}}',
    );
    expect(refusalOf(text)).toBe('accepted');
    const { meta } = scanMessage(Buffer.from(text));
    expect(meta?.keys()).toEqual(['io.modelcontextprotocol/logLevel']);
    expect(meta?.get('io.modelcontextprotocol/logLevel')).toBeDefined();
  });

  test('duplicates below what we read pass untouched', () => {
    for (const members of [
      '"method":"m","params":{"arguments":{"x":1,"x":2,"_meta":{"y":1,"y":2}}}',
      '"result":{"content":[{"x":1,"x":2}],"structuredContent":{"x":1,"\\u0078":2}}',
      '"error":{"code":1,"message":"","data":{"x":1,"x":2},"_meta":{"x":1,"x":2}}',
      '"method":"m","params":{"_meta":{"x":{"y":1,"y":2}}}',
      '"method":"m","params":[{"x":1,"x":2}]',
    ]) {
      expect(refusalOf(message(members)), members).toBe('accepted');
    }
  });

  test('broken JSON is reported as broken, also behind a key that occurs twice', () => {
    expect(refusalOf('{"jsonrpc":"2.0","id":1,"id":2,"method":"m"')).toBe('unexpected-end');
    expect(refusalOf('{"\\u0069d":1,"method":m}')).toBe('unexpected-byte');
  });

  test('an object with more members than can be compared cheaply is refused', () => {
    const many = Array.from({ length: maxMembers }, (_, i) => `"k${i}":0`).join();
    expect(refusalOf(message(`"result":{${many}}`))).toBe('accepted');
    expect(refusalOf(message(`"result":{${many},"one more":0}`))).toBe('too-many-members');
    expect(refusalOf(message(`"result":{"content":{${many},"one more":0}}`))).toBe('accepted');
  });
});
