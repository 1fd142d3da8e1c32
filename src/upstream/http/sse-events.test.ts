import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EventStreamReader } from './sse-events.ts';

interface Seen {
  readonly event: string;
  readonly data: string;
  readonly id: string | undefined;
}

function newReader(limitBytes = 10_000) {
  const events: Seen[] = [];
  let oversized = 0;
  const reader = new EventStreamReader(limitBytes, {
    event: ({ event, data, id }) => events.push({ event, data: data.toString(), id }),
    oversized: () => {
      oversized += 1;
    },
  });
  return { reader, events, oversized: () => oversized };
}

function eventsIn(text: string): readonly Seen[] {
  const { reader, events } = newReader();
  reader.push(Buffer.from(text));
  return events;
}

const plain = (data: string): Seen => ({ event: 'message', data, id: undefined });

describe('a stream of events', () => {
  it('gives the data of each event as it came', () => {
    expect(eventsIn('data: {"a":1}\n\ndata:{"b":2}\n\n')).toEqual([
      plain('{"a":1}'),
      plain('{"b":2}'),
    ]);
  });

  it('gives no event for an empty object, by which the SDK marks a beginning, but its place #resumed-streams', () => {
    expect(eventsIn('id: 1\ndata: {}\n\ndata: {"a":1}\n\n')).toEqual([
      { event: 'message', data: '{"a":1}', id: '1' },
    ]);
  });

  it('takes one space after the colon away, not more', () => {
    expect(eventsIn('data:  x\n\n')).toEqual([plain(' x')]);
  });

  it('takes CRLF for a line end too', () => {
    expect(eventsIn('event: x\r\ndata: 1\r\n\r\ndata: 2\n\n')).toEqual([
      { event: 'x', data: '1', id: undefined },
      plain('2'),
    ]);
  });

  it('takes a lone carriage return for a line end too, wherever the chunk ends', () => {
    expect(eventsIn('event: x\rdata: 1\r\rdata: 2\r\n\r')).toEqual([
      { event: 'x', data: '1', id: undefined },
      plain('2'),
    ]);
    const { reader, events } = newReader();
    for (const chunk of ['data: 1\r', '\ndata: 2\r', '\r', '\n', '\n']) {
      reader.push(Buffer.from(chunk));
    }
    expect(events).toEqual([plain('1\n2')]);
  });

  it('passes over one byte order mark at its beginning', () => {
    expect(eventsIn('\ufeffdata: 1\n\n\ufeffdata: 2\n\n')).toEqual([plain('1')]);
    expect(eventsIn('\ufeff\ufeffdata: 1\n\n')).toEqual([]);
  });

  it('calls an event without a name a message', () => {
    expect(eventsIn('event:\ndata: 1\n\n')).toEqual([plain('1')]);
  });

  it('goes on after the last event that was complete, not after one that was cut off', () => {
    const { reader, events } = newReader();
    reader.push(Buffer.from('id: 1\ndata: x\n\nid: 2\ndata: y\n'));
    expect([reader.lastId, events.length]).toEqual(['1', 1]);
    reader.push(Buffer.from('\n'));
    expect([reader.lastId, events.length]).toEqual(['2', 2]);
  });

  it('joins several data lines by a line feed', () => {
    expect(eventsIn('data: {\ndata: "a": 1\ndata\ndata: }\n\n')).toEqual([plain('{\n"a": 1\n\n}')]);
  });

  it('passes over comments, unknown fields and events without data', () => {
    expect(eventsIn(': keep-alive\n\nretry: 10\n\nevent: empty\n\ndata: x\n\n')).toEqual([
      plain('x'),
    ]);
  });

  it('names an event for that event only, and remembers the last id', () => {
    expect(
      eventsIn('event: endpoint\nid: 7\ndata: /m\n\ndata: x\n\nid: a\0b\ndata: y\n\n'),
    ).toEqual([
      { event: 'endpoint', data: '/m', id: '7' },
      { event: 'message', data: 'x', id: '7' },
      { event: 'message', data: 'y', id: '7' },
    ]);
  });

  it('gives no event that was not finished', () => {
    expect(eventsIn('data: {"a":1}\n')).toEqual([]);
  });

  it('gives the same events however its bytes were cut', () => {
    const line = fc.constantFrom(
      '',
      'data: {"é":"☃"}',
      'data:x',
      'data',
      'data: a\rb',
      ': a comment',
      'event: e',
      'id: 1',
      'unknown: field',
      ':',
      'data:: :',
    );
    const streams = fc
      .array(fc.tuple(line, fc.constantFrom('\n', '\r\n')), { maxLength: 30 })
      .map((lines) => Buffer.from(lines.map(([text, end]) => text + end).join('')));
    fc.assert(
      fc.property(streams, fc.array(fc.nat(400), { maxLength: 20 }), (bytes, cuts) => {
        const whole = newReader();
        whole.reader.push(bytes);
        const cut = newReader();
        let start = 0;
        for (const place of [...cuts.filter((at) => at < bytes.length), bytes.length].sort(
          (a, b) => a - b,
        )) {
          cut.reader.push(bytes.subarray(start, place));
          start = place;
        }
        expect(cut.events).toEqual(whole.events);
      }),
      { numRuns: 200 },
    );
  });
});

describe('an event beyond the limit', () => {
  it('is reported once, and nothing follows it', () => {
    const { reader, events, oversized } = newReader(1_000);
    reader.push(Buffer.from('data: small\n\n'));
    for (let chunk = 0; chunk < 10; chunk++) reader.push(Buffer.from(`data: ${'x'.repeat(500)}\n`));
    reader.push(Buffer.from('\ndata: late\n\n'));
    reader.push(Buffer.from('y'.repeat(5_000)));
    reader.push(Buffer.from('\ndata: later\n\n'));
    expect(events.map(({ data }) => data)).toEqual(['small']);
    expect(oversized()).toBe(1);
  });

  it('is noticed before its line has ended', () => {
    const { reader, oversized } = newReader(1_000);
    reader.push(Buffer.from('data: '));
    reader.push(Buffer.alloc(2_000, 'x'));
    expect(oversized()).toBe(1);
  });

  it('is not one that is exactly as large as the limit', () => {
    const { reader, events, oversized } = newReader(1_000);
    reader.push(Buffer.from(`event: message\ndata: ${'x'.repeat(1_000)}\n\n`));
    expect([events.length, oversized()]).toEqual([1, 0]);
  });

  it('may come in any number of lines and chunks', () => {
    const { reader, events } = newReader(100_000);
    const value = '0'.repeat(5_000);
    for (const digit of value) reader.push(Buffer.from(`data:${digit}\n`));
    for (const byte of Buffer.from(`data:${value}\n\n`)) reader.push(Buffer.from([byte]));
    expect(events.map(({ data }) => data)).toEqual([`${[...value].join('\n')}\n${value}`]);
  });

  it('is not a long stream of small ones', () => {
    const { reader, events, oversized } = newReader(1_000);
    for (let event = 0; event < 100; event++) {
      reader.push(Buffer.from(`data: ${'x'.repeat(900)}\n\n`));
    }
    expect([events.length, oversized()]).toEqual([100, 0]);
  });

  it('takes an event whose data is empty for a mark, with its place and its wait', () => {
    const events: string[] = [];
    const reader = new EventStreamReader(100, {
      event: ({ data }) => events.push(data.toString()),
      oversized: () => {},
    });
    reader.push(Buffer.from('id: p1-0\nretry: 500\ndata: \n\nretry: soon\ndata: x\n\n'));
    expect([events, reader.lastId, reader.retryMs]).toEqual([['x'], 'p1-0', 500]);
  });
});
