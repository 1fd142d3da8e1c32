import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { commonMembers, eventLine, maxLineBytes } from './event-line.ts';

describe('a line of the event log', () => {
  it('is the record as JSON', () => {
    const record = { at: 1, server: 'files', kind: 'ready', pid: null };
    expect(eventLine(record)).toBe(`${JSON.stringify(record)}\n`);
  });

  it('ends with what all lines have in common, also where it is cut', () => {
    const common = commonMembers({ config: '/home/me/holdfast.json' });
    expect(JSON.parse(eventLine({ at: 1 }, common))).toEqual({
      at: 1,
      config: '/home/me/holdfast.json',
    });
    const cut = eventLine({ at: 1, detail: 'x'.repeat(9_000) }, common);
    expect(cut.length).toBeLessThanOrEqual(maxLineBytes);
    expect(JSON.parse(cut)).toMatchObject({ at: 1, config: '/home/me/holdfast.json' });
    expect(eventLine({ at: 1 }, commonMembers({}))).toBe('{"at":1}\n');
  });

  it('is one line that shows nothing to obey, and still reads back the same', () => {
    const record = { detail: 'a\nb\r\u001b[31m\u009b31m\u202e\u2028\u0000\ud800' };
    const line = eventLine(record);
    expect(line).toMatch(/^[\x20-\x7e]+\n$/);
    expect(JSON.parse(line)).toEqual(record);
  });

  it('keeps what identifies a record that has to be cut', () => {
    const record = {
      at: 1,
      server: 'files',
      kind: 'lost',
      detail: 'x'.repeat(9_000),
      list: [['y'.repeat(900)]],
    };
    const line = JSON.parse(eventLine(record));
    expect(line).toMatchObject({ at: 1, server: 'files', kind: 'lost', list: null });
    expect(line.cut).toBe(Buffer.byteLength(`${JSON.stringify(record)}\n`));
    expect(line.detail).toMatch(/^x{80}…$/);
  });

  it('is never longer than the limit, and always JSON', () => {
    const text = fc.string({
      unit: fc.constantFrom('a', '\u0001', '"', 'é', '😀', '\u2028'),
      maxLength: 6_000,
    });
    fc.assert(
      fc.property(
        fc.dictionary(text, fc.oneof(text, fc.array(text)), { maxKeys: 40 }),
        (record) => {
          const line = eventLine(record);
          expect(Buffer.byteLength(line)).toBeLessThanOrEqual(maxLineBytes);
          expect(line.indexOf('\n')).toBe(line.length - 1);
          expect(() => JSON.parse(line)).not.toThrow();
        },
      ),
      { numRuns: 50 },
    );
  });
});
