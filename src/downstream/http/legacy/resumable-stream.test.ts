import { describe, expect, it } from 'vitest';
import { eventId, placeOf, trackName } from './resumable-stream.ts';

describe('an event id', () => {
  it('says its track and its place', () => {
    const life = '0123abcd';
    const id = eventId(trackName('post', 3), 17, life);
    expect(placeOf(id)).toEqual({ kind: 'post', track: 'p3', place: 17, life });
    expect(placeOf(eventId(trackName('listen', 1), 0, life))).toEqual({
      kind: 'listen',
      track: 'g1',
      place: 0,
      life,
    });
  });

  it.each([
    '',
    'p3',
    'p3-',
    'x3-1',
    'p3-1',
    'p3-1-1',
    'p3-1-0123abcd-1',
    'p3-1-0123ABCD',
    'p-1',
    '3-1',
    'p3--1',
    ' p3-1',
    `p3-${'9'.repeat(20)}-0123abcd`,
  ])('of somebody else says nothing: %j', (id) => {
    expect(placeOf(id)).toBeUndefined();
  });
});
